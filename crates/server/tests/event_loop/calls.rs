//! Calls of the application: panics, pipelining, and output that is sent while a call takes its time.

use std::collections::HashSet;
use std::process::Command;
use std::sync::mpsc;
use std::sync::{Arc, Mutex};
use std::time::Instant;

use adyton_http::BodySize;
use adyton_server::{Call, Config, HandOver, Outcome};

use crate::support::{A_MOMENT, Client, End, PATIENCE, Server, begin, config, get, text};

fn path(call: &Call<'_>) -> String {
    String::from_utf8(call.request.path().to_vec()).unwrap()
}

/// Answers with the path, or panics if the path says so.
fn echo(call: &mut Call<'_>) -> Outcome {
    match &*path(call) {
        "/panic" => panic!("meant to happen"),
        "/panic-begun" => {
            begin(&mut call.reply, BodySize::Unknown);
            call.reply.write(b"half of it");
            panic!("meant to happen")
        }
        "/panic-promised" => {
            begin(&mut call.reply, BodySize::Known(999));
            call.reply.write(b"half of it");
            panic!("meant to happen")
        }
        "/panic-waiting" => {
            begin(&mut call.reply, BodySize::Unknown);
            call.reply.write(b"half of it");
            call.reply.before_wait();
            panic!("meant to happen")
        }
        other => text(&mut call.reply, other),
    }
}

/// A panic before the head must be answered with a 500; this connection and all others must stay usable.
#[test]
fn a_panic_is_a_500() {
    let server = Server::start(config(), echo);
    let (mut client, mut other) = (server.client(), server.client());
    assert_eq!("/before", other.get("/before").text());

    let answer = client.get("/panic");

    assert_eq!(500, answer.status);
    assert!(!answer.text().contains("meant to happen"), "{}", answer.text());
    assert_eq!("/again", client.get("/again").text());
    assert_eq!("/other", other.get("/other").text());
    server.stop();
}

/// The log must say which request panicked. The test above is run in a process of its own, so that its log can be read.
#[test]
fn a_panic_is_logged_with_its_request() {
    let output = Command::new(std::env::current_exe().unwrap())
        .args(["--exact", "calls::a_panic_is_a_500", "--nocapture"])
        .output()
        .unwrap();

    let log = String::from_utf8(output.stderr).unwrap();
    assert!(output.status.success(), "{log}");
    assert!(log.contains("error: the server itself failed in a request for /panic\n"), "{log}");
    assert!(log.contains("meant to happen"), "{log}");
}

/// A panic inside a body cuts it: no last chunk, no full length, no next answer.
#[test]
fn a_panic_inside_a_body_cuts_it() {
    let server = Server::start(config(), echo);
    for path in ["/panic-begun", "/panic-promised", "/panic-waiting"] {
        let mut client = server.client();
        client.send(get(path) + &get("/next"));

        let (rest, end) = client.rest();

        let rest = String::from_utf8(rest).unwrap();
        assert!(rest.contains("half of it"), "{path}: {rest}");
        assert!(!rest.contains("0\r\n\r\n") && !rest.contains("/next"), "{path}: {rest}");
        assert!(matches!(end, End::Closed | End::Reset));
    }
    assert_eq!("/on", server.client().get("/on").text());
    server.stop();
}

/// Pipelined requests of one receive are answered in order, by one send, within one attach, unless they take longer
/// than a turn of their connection.
#[test]
fn pipelined_answers_leave_together() {
    const REQUESTS: usize = 50;

    // With `HandOver::Auto`, a call that the kernel interrupts for long could look slow, and the answers before it
    // would be sent without waiting for it.
    let server = Server::start(Config { hand_over: HandOver::Never, ..config() }, echo);
    let since = Instant::now();
    loop {
        let mut client = server.client();
        client.get("/first");
        let requests: String = (0..REQUESTS).map(|number| get(&format!("/{number}"))).collect();
        client.send(requests);

        let first_read = String::from_utf8(client.read_once(1 << 20)).unwrap();

        let bodies: Vec<&str> = first_read.split("HTTP/1.1 200 OK").skip(1).collect();
        for (number, body) in bodies.iter().enumerate() {
            assert!(body.ends_with(&format!("\r\n\r\n/{number}")), "{number}: {body}");
        }
        if bodies.len() == REQUESTS {
            break;
        }
        // The thread of the loop was interrupted for so long that the turn ended.
        assert!(since.elapsed() < PATIENCE, "{} answers in one read", bodies.len());
    }
    server.stop();
}

/// An answer that is finished does not wait for a pipelined request that takes its time.
#[test]
fn a_slow_call_keeps_no_earlier_answer() {
    let (go_on, told) = mpsc::channel();
    let told = Mutex::new(told);
    let server = Server::start(config(), move |call| {
        if path(call) == "/slow" {
            told.lock().unwrap().recv_timeout(PATIENCE).expect("the client has its first answer");
        }
        echo(call)
    });
    let mut client = server.client();
    client.send(get("/fast") + &get("/slow"));

    assert_eq!("/fast", client.answer().text());

    go_on.send(()).unwrap();
    assert_eq!("/slow", client.answer().text());
    server.stop();
}

/// If a call announces with `before_wait` that it may wait, its earlier output must be sent meanwhile.
#[test]
fn a_call_that_waits_has_its_output_sent() {
    let (go_on, told) = mpsc::channel();
    let told = Mutex::new(told);
    let server = Server::start(config(), move |call| {
        begin(&mut call.reply, BodySize::Known(9));
        for part in [b"one", b"two"] {
            call.reply.write(part);
            call.reply.before_wait();
            told.lock().unwrap().recv_timeout(PATIENCE).expect("the client has this part");
        }
        call.reply.write(b"end");
        Outcome::Done
    });
    let mut client = server.client();
    client.send(get("/"));

    for part in ["one", "two"] {
        assert!(client.read_until(part).ends_with(part.as_bytes()));
        go_on.send(()).unwrap();
    }

    assert_eq!(b"end", &*client.read_once(100));
    server.stop();
}

/// The watch, which sends the output of calls that wait, sleeps if there is none for a while. It must wake up again.
#[test]
fn the_watch_wakes_up_again() {
    let (go_on, told) = mpsc::channel();
    let told = Mutex::new(told);
    let server = Server::start(config(), move |call| {
        begin(&mut call.reply, BodySize::Known(6));
        call.reply.write(b"one");
        call.reply.before_wait();
        told.lock().unwrap().recv_timeout(PATIENCE).expect("the client has this part");
        call.reply.write(b"two");
        Outcome::Done
    });
    let mut client = server.client();
    for _ in 0..3 {
        client.send(get("/"));
        client.read_until("one");
        go_on.send(()).unwrap();
        client.read_until("two");
        // The client waits for longer than the watch stays awake; the server must send nothing that was not asked for.
        client.expect_silence();
    }
    server.stop();
}

/// With many connections at once, every answer must go to the connection that asked.
#[test]
fn answers_find_their_clients() {
    let seen = Arc::new(Mutex::new(HashSet::new()));
    let noted = Arc::clone(&seen);
    let server = Server::start(config(), move |call| {
        noted.lock().unwrap().insert(call.peer);
        echo(call)
    });
    let mut clients: Vec<Client> = (0..200).map(|_| server.client()).collect();
    for round in 0..3 {
        for (number, client) in clients.iter_mut().enumerate() {
            client.send(get(&format!("/{round}/{number}")));
        }
        for (number, client) in clients.iter_mut().enumerate() {
            assert_eq!(format!("/{round}/{number}"), client.answer().text());
        }
    }

    assert_eq!(200, seen.lock().unwrap().len());
    drop(clients);
    assert!(server.stop() < PATIENCE.saturating_sub(A_MOMENT));
}
