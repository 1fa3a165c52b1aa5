//! The loop changes hands: another thread must be able to finish whatever one thread has begun.

use std::collections::HashSet;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::sync::{Arc, Mutex};
use std::thread::ThreadId;
use std::time::Instant;

use adyton_http::BodySize;
use adyton_server::{Call, Config, HandOver, SiteLimits};

use crate::support::{
    Gate, PATIENCE, SHORT_MS, SPAWN, Server, assert_timed, begin, body_bytes, config, get, piece, text,
};

fn echo(call: &mut Call<'_>) -> adyton_server::Outcome {
    let path = String::from_utf8(call.request.path().to_vec()).unwrap();
    let body = String::from_utf8(body_bytes(&call.body)).unwrap();
    text(&mut call.reply, &(path + &body))
}

/// Threads that were inside the application.
type Seen = Arc<Mutex<HashSet<ThreadId>>>;

fn note(seen: &Seen) {
    seen.lock().unwrap().insert(std::thread::current().id());
}

/// Idle connections, half-read heads and bodies, and their timers must survive a change of the loop's thread.
#[test]
fn half_read_requests_survive() {
    let threads = Seen::default();
    let (seen, gate) = (Arc::clone(&threads), Gate::closed());
    let first = Arc::clone(&gate);
    let server = Server::start(Config { hand_over: HandOver::Always, ..config() }, move |call| {
        note(&seen);
        if call.request.path() == b"/first" {
            first.stand();
        }
        echo(call)
    });
    let (mut idle, mut head, mut body) = (server.client(), server.client(), server.client());
    let mut away = server.client();
    head.send("GET /head HT");
    body.send("POST /body HTTP/1.1\r\nHost: test\r\nContent-Length: 10\r\n\r\n12");
    // While a thread is inside the application, another thread drives the loop.
    assert_eq!("/idle", idle.get("/idle").text());
    away.send(get("/first"));
    gate.wait();
    for round in 0..4 {
        // This answer shows that the loop has seen the bytes that were sent before, and was handed over.
        assert_eq!("/idle", idle.get("/idle").text());
        head.send(["TP/", "1.1\r\nHo", "st: te", "st\r"][round]);
        body.send("34");
    }
    head.send("\n\r\n");

    assert_eq!("/head", head.answer().text());
    assert_eq!("/body1234343434", body.answer().text());
    assert_eq!("/idle", idle.get("/idle").text());
    gate.open();
    assert_eq!("/first", away.answer().text());
    assert!(threads.lock().unwrap().len() > 1);
    assert_eq!((0, 9), (server.counters().inline, server.counters().handed_over));
    server.stop();
}

/// A deadline that one thread has set must expire in time on another thread.
#[test]
fn timers_survive() {
    let server = Server::limited(
        config(),
        SiteLimits { keep_alive_timeout_ms: 2 * SHORT_MS, ..SiteLimits::default() },
        echo,
    );
    let mut client = server.client();
    let since = Instant::now();
    client.get("/");
    server.change_hands();

    client.expect_end();

    assert_timed(since, 2 * SHORT_MS);
    server.stop();
}

/// A call that does not return must lose the loop to another thread: other requests are answered, by as many threads as
/// may be inside the application.
#[test]
fn slow_calls_do_not_stop_the_others() {
    let gate = Gate::closed();
    let server = Server::start(config(), gate.application());
    let mut slow: Vec<_> = (0..3).map(|_| server.client()).collect();
    let mut fast = server.client();
    for client in &mut slow {
        client.send(get("/slow"));
        gate.wait();
        assert_eq!("hello", fast.get("/fast").text());
    }

    assert_eq!(3, server.counters().handed_over + server.counters().queued);
    for _ in &slow {
        gate.open();
        assert_eq!("hello", fast.get("/fast").text());
    }
    for mut client in slow {
        assert_eq!("hello", client.answer().text());
        assert_eq!("hello", client.get("/again").text());
    }
    server.stop();
}

/// When every thread is inside the application, the loop must still accept, read and queue; waiting requests are served
/// when a thread becomes free.
#[test]
fn all_threads_inside() {
    let gate = Gate::closed();
    let server = Server::start(Config { threads: 2, ..config() }, gate.application());
    let mut slow: Vec<_> = (0..2).map(|_| server.client()).collect();
    for client in &mut slow {
        client.send(get("/slow"));
        gate.wait();
    }
    let mut waiting: Vec<_> = (0..5).map(|_| server.client()).collect();
    for client in &mut waiting {
        client.send(get("/fast"));
    }
    let since = Instant::now();
    while server.counters().queue_length < 5 {
        assert!(since.elapsed() < PATIENCE, "{:?}", server.counters());
        std::thread::yield_now();
    }
    assert_eq!(2, server.counters().threads_busy);

    gate.open();
    for client in &mut waiting {
        assert_eq!("hello", client.answer().text());
    }
    gate.open();
    for client in &mut slow {
        assert_eq!("hello", client.answer().text());
    }
    server.stop();
}

/// With one thread for the application, no other thread may enter it, however slow it is, and the loop must go on.
#[test]
fn one_thread_only() {
    let threads = Seen::default();
    let (seen, gate) = (Arc::clone(&threads), Gate::closed());
    let application = gate.application();
    let server = Server::start(Config { threads: 1, ..config() }, move |call| {
        note(&seen);
        application(call)
    });
    for _ in 0..5 {
        let (mut slow, mut other, mut special) = (server.client(), server.client(), server.client());
        slow.send(get("/slow"));
        gate.wait();
        other.send(get("/other"));
        // Requests that need no application are answered meanwhile.
        special.send("OPTIONS * HTTP/1.1\r\nHost: test\r\n\r\n");
        assert!(String::from_utf8(special.read_until("\r\n\r\n")).unwrap().starts_with("HTTP/1.1 204"));
        gate.open();
        assert_eq!("hello", slow.answer().text());
        assert_eq!("hello", other.answer().text());
    }

    assert_eq!(1, threads.lock().unwrap().len());
    server.stop();
}

/// An answer that its client does not read may make only its own thread wait: it must hold neither the loop nor one of
/// the application's places.
#[test]
fn readers_hold_nobody_up() {
    const PIECES: usize = 200;

    let written = Arc::new(AtomicUsize::new(0));
    let counter = Arc::clone(&written);
    // The last reader waits until the others have read all, which takes a sanitizer minutes.
    let limits = SiteLimits { write_idle_timeout_ms: 3_600_000, ..SiteLimits::default() };
    let server = Server::limited(Config { threads: 2, ..config() }, limits, move |call| {
        if call.request.path() != b"/large" {
            return echo(call);
        }
        begin(&mut call.reply, BodySize::Unknown);
        for number in 0..PIECES {
            call.reply.write(&piece(number, 64 << 10));
            if call.reply.is_backed_up() {
                call.reply.wait_for_reader().unwrap();
            }
            counter.fetch_add(1, Ordering::SeqCst);
        }
        adyton_server::Outcome::Done
    });
    let mut readers: Vec<_> = (0..5).map(|_| server.client()).collect();
    for reader in &mut readers {
        reader.send(get("/large"));
    }
    let since = Instant::now();
    while server.counters().handed_over + server.counters().queued < 5 {
        assert!(since.elapsed() < PATIENCE, "{:?}", server.counters());
        std::thread::yield_now();
    }

    assert_eq!("/fast", server.client().get("/fast").text());
    assert!(written.load(Ordering::SeqCst) < 5 * PIECES, "nobody has read, and yet all is written");
    let whole: Vec<u8> = (0..PIECES).flat_map(|number| piece(number, 64 << 10)).collect();
    for mut reader in readers {
        assert!(reader.answer().body == whole);
    }
    server.stop();
}

/// If no thread can be added, clients that do not read must not take all existing threads: one must be left for other
/// clients.
#[test]
fn readers_do_not_take_the_last_thread() {
    let server = Server::start(Config { threads: 2, ..config() }, move |call| {
        if call.request.path() != b"/large" {
            return echo(call);
        }
        SPAWN.set(None);
        begin(&mut call.reply, BodySize::Unknown);
        loop {
            call.reply.write(&piece(0, 64 << 10));
            if call.reply.is_backed_up() && call.reply.wait_for_reader().is_err() {
                return adyton_server::Outcome::Failed;
            }
        }
    });
    let mut readers: Vec<_> = (0..6).map(|_| server.client()).collect();
    for reader in &mut readers {
        reader.send(get("/large"));
    }

    for _ in 0..10 {
        assert_eq!("/fast", server.client().get("/fast").text());
    }
    drop(readers);
    server.stop();
}

/// Under load, whenever the loop changes hands, every answer must come, and in order.
#[test]
fn nothing_is_lost_under_load() {
    const HAND_OVERS: usize = 100;

    for hand_over in [HandOver::Auto, HandOver::Always, HandOver::Never] {
        let server = Server::start(Config { hand_over, ..config() }, echo);
        let done = Arc::new(AtomicBool::new(false));
        let clients: Vec<_> = (0..4)
            .map(|client| {
                let (mut connection, done) = (server.client(), Arc::clone(&done));
                std::thread::spawn(move || {
                    let mut number = 0;
                    while !done.load(Ordering::SeqCst) {
                        let paths: Vec<_> =
                            (0..8).map(|step| format!("/{client}/{}", number + step)).collect();
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
        let mut client = server.client();
        for _ in 0..HAND_OVERS {
            server.change_hands();
            assert_eq!("/here", client.get("/here").text());
        }
        done.store(true, Ordering::SeqCst);

        let answered: usize = clients.into_iter().map(|client| client.join().unwrap()).sum();
        let counters = server.counters();
        let counted = counters.inline + counters.handed_over + counters.queued;
        assert_eq!((answered + HAND_OVERS) as u64, counted, "{counters:?}");
        server.stop();
    }
}

/// The next thread must see a stop that is asked for right after a change of hands.
#[test]
fn a_stop_after_a_change_of_hands_is_seen() {
    let server = Server::start(config(), echo);
    let mut client = server.client();
    client.get("/");
    server.change_hands();
    server.ask_stop();
    client.expect_end();
    assert!(server.stop() < PATIENCE / 2);
}
