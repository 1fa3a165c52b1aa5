//! The loop changes hands: whatever one thread has begun, another one ends.

use std::collections::HashSet;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::sync::{Arc, Mutex};
use std::thread::ThreadId;
use std::time::Instant;

use adyton_server::{Body, Call, Config, Loop, Outcome, Pull};

use crate::support::{Closure, PATIENCE, SHORT_MS, Server, assert_timed, config, get, piece, stream, text};

const fn assert_send<T: Send>() {}

/// A loop may go to any thread: nothing in it belongs to the one that made it.
const _: () = assert_send::<Loop<Closure<fn(&mut Call<'_>) -> Outcome>>>();

fn echo(call: &mut Call<'_>) -> Outcome {
    let path = String::from_utf8(call.head.path().of(call.bytes).to_vec()).unwrap();
    let body = match &call.body {
        Body::Bytes(bytes) => String::from_utf8(bytes.to_vec()).unwrap(),
        _ => String::new(),
    };
    text(&mut call.reply, &(path + &body))
}

/// Connections between two requests, heads and bodies that are half read, and their timers.
#[test]
fn half_read_requests_survive() {
    let threads = Arc::new(Mutex::new(HashSet::<ThreadId>::new()));
    let seen = Arc::clone(&threads);
    let mut server = Server::start(config(), move |call| {
        seen.lock().unwrap().insert(std::thread::current().id());
        echo(call)
    });
    let (mut idle, mut head, mut body) = (server.client(), server.client(), server.client());
    head.send("GET /head HT");
    body.send("POST /body HTTP/1.1\r\nHost: test\r\nContent-Length: 10\r\n\r\n12");
    for round in 0..4 {
        // Its answer shows that the loop has seen what was sent before.
        assert_eq!("/idle", idle.get("/idle").text());
        server.change_hands();
        assert_eq!(round + 1, threads.lock().unwrap().len());
        head.send(["TP/", "1.1\r\nHo", "st: te", "st\r"][round]);
        body.send("34");
    }
    head.send("\n\r\n");

    assert_eq!("/head", head.answer().text());
    assert_eq!("/body1234343434", body.answer().text());
    assert_eq!("/idle", idle.get("/idle").text());
    assert_eq!(5, threads.lock().unwrap().len());
    server.stop();
}

/// A deadline set on one thread comes on another, in time.
#[test]
fn timers_survive() {
    let mut server = Server::start(Config { keep_alive_timeout_ms: 2 * SHORT_MS, ..config() }, echo);
    let mut client = server.client();
    let since = Instant::now();
    client.get("/");
    server.change_hands();

    client.expect_end();

    assert_timed(since, 2 * SHORT_MS);
    server.stop();
}

/// A stream that waits for its client goes on where it was, attached by the thread that pulls it.
#[test]
fn a_stream_survives() {
    const PIECES: usize = 2000;

    let pulls = Arc::new(AtomicUsize::new(0));
    let threads = Arc::new(Mutex::new(HashSet::<ThreadId>::new()));
    let (counter, seen) = (Arc::clone(&pulls), Arc::clone(&threads));
    let mut server = Server::start(config(), move |call| {
        let (counter, seen) = (Arc::clone(&counter), Arc::clone(&seen));
        stream(&mut call.reply, move |reply| {
            seen.lock().unwrap().insert(std::thread::current().id());
            let number = counter.fetch_add(1, Ordering::SeqCst);
            reply.write(&piece(number, 16 << 10));
            if number + 1 == PIECES { Pull::End } else { Pull::More }
        })
    });
    let mut client = server.client();
    client.send(get("/"));
    let since = Instant::now();
    while pulls.load(Ordering::SeqCst) == 0 {
        assert!(since.elapsed() < PATIENCE);
        std::thread::yield_now();
    }
    server.change_hands();

    let body = client.answer().body;

    let whole: Vec<u8> = (0..PIECES).flat_map(|number| piece(number, 16 << 10)).collect();
    assert!(body == whole, "{} bytes came of {}", body.len(), whole.len());
    assert_eq!(2, threads.lock().unwrap().len());
    server.stop();
}

/// Under load, at any moment: every answer comes, in order, and from many threads.
#[test]
fn nothing_is_lost_under_load() {
    const HAND_OVERS: usize = 100;

    let threads = Arc::new(Mutex::new(HashSet::<ThreadId>::new()));
    let seen = Arc::clone(&threads);
    let mut server = Server::start(config(), move |call| {
        seen.lock().unwrap().insert(std::thread::current().id());
        echo(call)
    });
    let done = Arc::new(AtomicBool::new(false));
    let clients: Vec<_> = (0..4)
        .map(|client| {
            let (mut connection, done) = (server.client(), Arc::clone(&done));
            std::thread::spawn(move || {
                let mut number = 0;
                while !done.load(Ordering::SeqCst) {
                    let paths: Vec<_> = (0..8).map(|step| format!("/{client}/{}", number + step)).collect();
                    connection.send(paths.iter().map(|path| get(path)).collect::<String>());
                    for path in paths {
                        assert_eq!(path, connection.answer().text());
                    }
                    number += 8;
                }
                number
            })
        })
        .collect();
    for turn in 0..HAND_OVERS {
        server.change_hands();
        // Until this thread has answered something.
        let since = Instant::now();
        while threads.lock().unwrap().len() <= turn {
            assert!(since.elapsed() < PATIENCE, "nothing is answered after hand-over {turn}");
            std::thread::yield_now();
        }
    }
    done.store(true, Ordering::SeqCst);

    for client in clients {
        assert!(client.join().unwrap() > 0);
    }
    server.stop();
}

/// A stop that is asked for while nobody drives is seen by the next thread.
#[test]
fn a_stop_between_two_threads_is_seen() {
    let mut server = Server::start(config(), echo);
    let mut client = server.client();
    client.get("/");
    server.change_hands();
    server.ask_stop();
    client.expect_end();
    assert!(server.stop() < PATIENCE / 2);
}
