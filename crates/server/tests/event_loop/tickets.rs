//! Answers that come later than the call, from any thread, once, and also when no client waits for them any more.

use std::sync::Mutex;
use std::sync::mpsc::{Receiver, Sender, channel};

use adyton_http::BodySize;
use adyton_server::{Call, Config, Outcome, Pull, Ticket};

use crate::support::{PATIENCE, SHORT_MS, Server, begin, config, get, limits, stream, text, until};

/// An application that gives away the tickets of all requests for `/later`.
fn giving(tickets: Sender<Ticket>) -> impl Fn(&mut Call<'_>) -> Outcome + Send + Sync + 'static {
    let tickets = Mutex::new(tickets);
    move |call| match call.request.path() {
        b"/later" => {
            let (ticket, claim) = call.later();
            tickets.lock().unwrap().send(ticket).unwrap();
            Outcome::Later(claim)
        }
        // The ticket is redeemed before the call is over.
        b"/at-once" => {
            let (ticket, claim) = call.later();
            ticket.redeem(|reply| text(reply, "at once"));
            Outcome::Later(claim)
        }
        b"/dropped" => {
            let (_, claim) = call.later();
            Outcome::Later(claim)
        }
        b"/begun" => {
            let (ticket, claim) = call.later();
            begin(&mut call.reply, BodySize::Known(9));
            ticket.redeem(|reply| text(reply, "too late"));
            Outcome::Later(claim)
        }
        _ => text(&mut call.reply, "hello"),
    }
}

fn started(threads: usize, request_timeout_ms: u64) -> (Server, Receiver<Ticket>) {
    let (sender, tickets) = channel();
    let config = Config { threads, ..config() };
    (Server::limited(config, limits(request_timeout_ms), giving(sender)), tickets)
}

/// Requests must be able to wait without a thread: others are served meanwhile, and answers may come in any order.
#[test]
fn later() {
    for threads in [1, 2] {
        let (server, tickets) = started(threads, 0);
        let mut clients: Vec<_> = (0..5).map(|_| server.client()).collect();
        let mut waiting = Vec::new();
        for client in &mut clients {
            client.send(get("/later"));
            waiting.push(tickets.recv_timeout(PATIENCE).unwrap());
            assert_eq!("hello", server.client().get("/hello").text());
        }

        for (number, ticket) in waiting.into_iter().enumerate().rev() {
            assert!(ticket.is_awaited());
            ticket.redeem(move |reply| text(reply, &format!("number {number}")));
            assert_eq!(format!("number {number}"), clients[number].answer().text());
        }

        // The connections live on.
        for client in &mut clients {
            assert_eq!("hello", client.get("/hello").text());
        }
        server.stop();
    }
}

/// A pipelined request behind a waiting one must be answered after it, and a request before it must not wait.
#[test]
fn pipelined() {
    let (server, tickets) = started(1, 0);
    let mut client = server.client();
    client.send(get("/hello") + &get("/later") + &get("/hello"));
    let ticket = tickets.recv_timeout(PATIENCE).unwrap();

    assert_eq!("hello", client.answer().text());
    client.expect_silence();
    ticket.redeem(|reply| text(reply, "later"));

    assert_eq!(["later", "hello"], [client.answer().text(), client.answer().text()]);
    server.stop();
}

/// A ticket may be redeemed before its call is over. If a ticket is dropped, or if its answer has already begun, the
/// request must fail.
#[test]
fn at_once_or_never() {
    for threads in [1, 2] {
        let (server, _) = started(threads, 0);
        let mut client = server.client();

        assert_eq!("at once", client.get("/at-once").text());
        assert_eq!(500, client.get("/dropped").status);
        assert_eq!("at once", client.get("/at-once").text());
        client.send(get("/begun"));
        assert!(
            client.rest().0.ends_with(b"\r\n\r\n"),
            "the head, and nothing that could be taken for a body"
        );
        server.stop();
    }
}

/// The later answer may be a stream.
#[test]
fn streamed() {
    let (server, tickets) = started(2, 0);
    let mut client = server.client();
    client.send(get("/later"));
    let mut left = 3;
    tickets.recv_timeout(PATIENCE).unwrap().redeem(move |reply| {
        stream(reply, move |reply| {
            reply.write(b"piece ");
            left -= 1;
            if left == 0 { Pull::End } else { Pull::More }
        })
    });

    assert_eq!("piece piece piece ", client.answer().text());
    server.stop();
}

/// When the client has gone, nobody awaits the ticket, and the closure that would answer must not be called.
#[test]
fn client_gone() {
    let (server, tickets) = started(1, 0);
    let mut client = server.client();
    client.send(get("/later"));
    let ticket = tickets.recv_timeout(PATIENCE).unwrap();
    drop(client);
    until(|| server.counters().departed == 1);

    assert!(!ticket.is_awaited());
    ticket.redeem(|_| unreachable!("nobody waits"));
    assert_eq!("hello", server.client().get("/hello").text());
    server.stop();
}

/// The timeout of a request must go on while the request waits for its ticket.
#[test]
fn timed_out() {
    let (server, tickets) = started(2, SHORT_MS);
    let mut client = server.client();
    client.send(get("/later"));
    let ticket = tickets.recv_timeout(PATIENCE).unwrap();

    assert_eq!(504, client.answer().status);
    drop(client);
    assert!(!ticket.is_awaited());
    ticket.redeem(|_| unreachable!("nobody waits"));
    until(|| server.counters().timed_out == 1);
    server.stop();
}

/// A server that is to stop must wait for its tickets, as long as the time for the stop allows.
#[test]
fn stopped() {
    let (server, tickets) = started(1, 0);
    let mut client = server.client();
    client.send(get("/later"));
    let ticket = tickets.recv_timeout(PATIENCE).unwrap();
    server.ask_stop();
    ticket.redeem(|reply| text(reply, "after all"));

    assert_eq!("after all", client.answer().text());
    server.stop();
}
