//! A clean stop: nothing new is taken, running requests may finish, and not for ever.

use std::net::TcpStream;
use std::sync::mpsc;
use std::sync::{Arc, Mutex};
use std::time::{Duration, Instant};

use adyton_server::{Call, Config, HandOver, Outcome, Pull};

use crate::support::{A_MOMENT, Gate, PATIENCE, SHORT_MS, Server, assert_timed, config, get, stream, text};

fn hello(call: &mut Call<'_>) -> Outcome {
    text(&mut call.reply, "hello")
}

/// Waits until the port is closed, which is when the stop has begun.
fn wait_for_refusal(address: std::net::SocketAddr) {
    let since = Instant::now();
    while TcpStream::connect(address).is_ok() {
        assert!(since.elapsed() < PATIENCE, "new connections are still taken");
        std::thread::sleep(Duration::from_millis(1));
    }
}

/// Idle connections are closed at once, and then there is nothing to wait for.
#[test]
fn idle_connections_are_closed() {
    let server = Server::start(config(), hello);
    let mut clients: Vec<_> = (0..10).map(|_| server.client()).collect();
    for client in &mut clients {
        client.get("/");
    }
    // Some clients never asked for anything.
    clients.extend((0..10).map(|_| server.client()));

    assert!(server.stop() < PATIENCE / 2);

    clients.into_iter().for_each(crate::support::Client::expect_end);
}

/// A running stream must go on to its end; then its connection is closed.
#[test]
fn a_running_stream_finishes() {
    let (go_on, told) = mpsc::channel();
    let told = Arc::new(Mutex::new(told));
    let server = Server::start(config(), move |call| {
        let told = Arc::clone(&told);
        let mut number = 0;
        stream(&mut call.reply, move |reply| {
            if number > 0 {
                reply.before_wait();
                told.lock().unwrap().recv_timeout(PATIENCE).expect("the client has the last piece");
            }
            number += 1;
            reply.write(format!("piece {number};").as_bytes());
            if number == 5 { Pull::End } else { Pull::More }
        })
    });
    let mut client = server.client();
    client.send(get("/"));
    client.read_until("piece 1;");
    server.ask_stop();
    go_on.send(()).unwrap();
    client.read_until("piece 2;");
    (0..3).for_each(|_| go_on.send(()).unwrap());

    let (rest, _end) = client.rest();

    let rest = String::from_utf8(rest).unwrap();
    assert!(rest.contains("piece 5;") && rest.ends_with("\r\n0\r\n\r\n"), "{rest}");
    server.stop();
}

/// A stream that its client does not read must end when the time for the stop is over.
#[test]
fn a_stuck_stream_is_given_up() {
    let server = Server::start(Config { graceful_timeout_ms: SHORT_MS, ..config() }, |call| {
        stream(&mut call.reply, |reply| {
            reply.write(&[b'.'; 16 << 10]);
            Pull::More
        })
    });
    let mut client = server.client();
    client.send(get("/"));
    client.read_until("\r\n\r\n");
    std::thread::sleep(A_MOMENT);
    let since = Instant::now();

    server.stop();

    assert_timed(since, SHORT_MS);
}

/// A half-received request may still be completed; its answer must be the last on the connection, and must say so.
#[test]
fn a_request_that_has_begun_is_answered() {
    let server = Server::start(config(), hello);
    let (mut head, mut body) = (server.client(), server.client());
    head.send("GET / HTTP/1.1\r\nHost:");
    body.send("POST / HTTP/1.1\r\nHost: test\r\nContent-Length: 10\r\n\r\n12345");
    // This answer shows that the loop has seen the other two clients.
    server.client().get("/");
    server.ask_stop();
    wait_for_refusal(server.address);
    head.send(" test\r\n\r\n");
    body.send("67890");

    for mut client in [head, body] {
        let answer = client.answer();

        assert_eq!("hello", answer.text());
        assert_eq!(Some("close"), answer.field("Connection"));
        client.expect_end();
    }
    server.stop();
}

/// Connections that the kernel has accepted before the stop must be served, new and old ones: requests that wait on
/// them are answered.
#[test]
fn waiting_requests_are_answered() {
    let gate = Gate::closed();
    let server = Server::start(Config { hand_over: HandOver::Never, ..config() }, gate.application());
    let mut waiting: Vec<_> = (0..10).map(|_| server.client()).collect();
    for client in &mut waiting {
        client.get("/");
    }
    let mut slow = server.client();
    slow.send(get("/slow"));
    gate.wait();
    // The loop is inside the application: these connections are not even accepted. When it comes back, it sees the stop
    // first.
    server.ask_stop();
    waiting.extend((0..300).map(|_| server.client()));
    for client in &mut waiting {
        client.send(get("/"));
    }
    gate.open();

    waiting.push(slow);
    for mut client in waiting {
        assert_eq!("hello", client.answer().text());
        client.expect_end();
    }
    server.stop();
}
