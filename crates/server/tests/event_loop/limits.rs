//! Limits of the loop: connections, requests of one connection, and bytes that are read of a refused body.

use std::io::{Read, Write};
use std::sync::{Arc, Mutex};
use std::time::{Duration, Instant};

use adyton_server::tally::Cell;
use adyton_server::{BodyMemory, Call, Config, HandOver, Outcome, Quota, SiteLimits};

use crate::support::{Client, Gate, SHORT_MS, Server, assert_timed, config, get, text, until};

fn hello(call: &mut Call<'_>) -> Outcome {
    text(&mut call.reply, "hello")
}

const HALF: &str = "GET / HTTP/1.1\r\nHo";
const REST: &str = "st: test\r\n\r\n";

/// Beyond the limit, a connection must wait in the kernel's queue while all accepted connections are busy.
#[test]
fn connections() {
    let config = Config { connections_max: 2, first_byte_timeout_ms: 10 * SHORT_MS, ..config() };
    let server = Server::start(config, hello);
    let (mut busy, mut fresh) = (server.client(), server.client());
    busy.send(HALF);
    let mut third = server.client();
    third.send(get("/"));

    let waits = server.waits();
    third.expect_silence();
    let waits = server.waits() - waits;
    assert!(waits < 20, "the loop spins: it has waited {waits} times");
    fresh.expect_silence();
    busy.send(REST);

    assert_eq!("hello", busy.answer().text());
    // A connection between two requests makes room.
    busy.expect_end();
    assert_eq!("hello", third.answer().text());
    assert_eq!("hello", fresh.get("/").text());
    server.stop();
}

/// The limit must hold within one burst, too: requests of connections beyond the limit are not begun.
#[test]
fn connections_of_a_burst() {
    let gate = Gate::closed();
    let server = Server::start(Config { connections_max: 2, ..config() }, gate.application());
    let mut slow = server.client();
    slow.send(get("/slow"));
    gate.wait();
    let mut burst: Vec<_> = (0..5).map(|_| server.client()).collect();
    for client in &mut burst {
        client.send(HALF);
    }
    gate.open();

    assert_eq!("hello", slow.answer().text());
    slow.expect_end();
    for client in &mut burst[2..] {
        client.send(REST);
        client.expect_silence();
    }
    for client in &mut burst[..2] {
        client.send(REST);
    }
    for client in &mut burst {
        assert_eq!("hello", client.answer().text());
    }
    server.stop();
}

/// At the limit, the connections that have been idle longest must make room, and only if another connection waits.
#[test]
fn idle_connections_make_room() {
    let server = Server::start(Config { connections_max: 16, ..config() }, hello);
    let mut idle = Vec::new();
    for _ in 0..16 {
        idle.push(server.client());
        idle.last_mut().unwrap().get("/");
    }
    for client in &mut idle {
        // Each connection begins to idle in another millisecond.
        std::thread::sleep(Duration::from_millis(2));
        assert_eq!("hello", client.get("/").text());
    }

    assert_eq!("hello", server.client().get("/").text());

    let kept = idle.split_off(2);
    idle.into_iter().for_each(Client::expect_end);
    for mut client in kept {
        assert_eq!("hello", client.get("/").text());
    }
    server.stop();
}

/// A connection on which a request has just begun is not idle, though the loop has not looked at it.
#[test]
fn a_fresh_request_makes_no_room() {
    let gate = Gate::closed();
    let server = Server::start(Config { connections_max: 2, ..config() }, gate.application());
    let (mut idle, mut slow) = (server.client(), server.client());
    idle.get("/");
    slow.send(get("/slow"));
    gate.wait();
    let mut third = server.client();
    third.send(get("/"));
    idle.send(HALF);
    gate.open();

    assert_eq!("hello", slow.answer().text());
    assert_eq!("hello", third.answer().text());
    idle.send(REST);
    assert_eq!("hello", idle.answer().text());
    server.stop();
}

/// The last request of a connection is answered with `close`, and requests that were pipelined behind it are not
/// answered.
#[test]
fn requests_of_one_connection() {
    let server =
        Server::limited(config(), SiteLimits { keep_alive_requests_max: 3, ..SiteLimits::default() }, hello);
    for pipelined in [true, false] {
        let mut client = server.client();
        if pipelined {
            client.send(get("/").repeat(5));
        }
        for number in 1..=3 {
            if !pipelined {
                client.send(get("/"));
            }
            let expected = (number == 3).then_some("close");

            assert_eq!(expected, client.answer().field("Connection"), "answer {number}");
        }
        client.expect_end();
    }
    server.stop();
}

/// Bytes that a client sends after a refusal must be read only up to a limit, and only for a time.
#[test]
fn linger() {
    const DRAIN_BYTES: u64 = 64 << 10;

    let limits = SiteLimits { body_bytes_max: 1000, ..SiteLimits::default() };
    let config = Config { drain_bytes_max: DRAIN_BYTES, linger_timeout_ms: SHORT_MS, ..config() };
    let buffer_bytes = (config.head.head_bytes_max + (64 << 10)) as u64;
    let server = Server::limited(config, limits, hello);
    let mut client = Client::connect_unix(&server.path);
    let since = Instant::now();
    client.send("POST / HTTP/1.1\r\nHost: test\r\nContent-Length: 100000000\r\n\r\n");

    let mut sent_bytes = 0;
    while let Ok(bytes) = client.socket.write(&[b'.'; 4096]) {
        sent_bytes += bytes as u64;
    }

    assert_timed(since, SHORT_MS);
    let kernel = std::fs::read_to_string("/proc/sys/net/core/wmem_default").unwrap();
    // One receive took the head and the bytes that came with it, and another one exceeded the limit.
    let most = DRAIN_BYTES + 2 * buffer_bytes + kernel.trim().parse::<u64>().unwrap();
    assert!((DRAIN_BYTES..most).contains(&sent_bytes), "{sent_bytes} bytes were taken, {most} allowed");
    server.stop();
}

/// The answer that refuses a body must not be lost in a reset while the client still sends the body.
#[test]
fn linger_saves_the_answer() {
    let server =
        Server::limited(config(), SiteLimits { body_bytes_max: 1000, ..SiteLimits::default() }, hello);
    for _ in 0..20 {
        let mut client = server.client();
        client.send("POST / HTTP/1.1\r\nHost: test\r\nContent-Length: 60000\r\n\r\n");
        client.send(vec![b'.'; 60_000]);

        assert_eq!(413, client.answer().status);

        let mut end = [0; 1];
        assert_eq!(0, client.socket.read(&mut end).unwrap(), "an orderly end");
    }
    server.stop();
}

/// A lingering connection that the client has closed must no longer count.
#[test]
fn linger_ends_with_the_client() {
    let server = Server::start(Config { connections_max: 1, ..config() }, hello);
    let mut client = server.client();
    client.send("nonsense\r\n\r\n");
    assert_eq!(400, client.answer().status);

    let mut next = server.client();
    next.send(get("/"));
    next.expect_silence();
    drop(client);

    assert_eq!("hello", next.answer().text());
    server.stop();
}

/// The limit for bodies in files must hold for all bodies together, and their room must be free again after the
/// answers.
#[test]
fn disk_space_for_bodies() {
    let (body_memory, body_files) = (BodyMemory::new(0), Quota::new(300_000));
    let server =
        Server::start(Config { body_memory, body_files, linger_timeout_ms: SHORT_MS, ..config() }, hello);
    // All bodies are larger than the receive buffer, because a body that comes with its head is in memory already.
    let post = |bytes: usize| {
        let head = format!("POST / HTTP/1.1\r\nHost: test\r\nContent-Length: {bytes}\r\n\r\n");
        let mut client = server.client();
        client.send([head.as_bytes(), &vec![b'.'; bytes]].concat());
        client.answer().status
    };

    let statuses: Vec<u16> = [200_000, 200_000, 400_000, 200_000].into_iter().map(post).collect();

    assert_eq!(vec![200, 200, 503, 200], statuses);
    server.stop();
}

/// The limit of memory must hold for all bodies together. A body that gets no memory goes to a file, for which there is
/// no room in this test. The memory of a body must be free again when its client has gone.
#[test]
fn memory_for_bodies() {
    const SENT: usize = 200_000;

    let (body_memory, body_files) = (BodyMemory::new(512 << 10), Quota::new(0));
    let server =
        Server::start(Config { body_memory, body_files, linger_timeout_ms: SHORT_MS, ..config() }, hello);
    let part = |bytes: usize| {
        let head = format!("POST / HTTP/1.1\r\nHost: test\r\nContent-Length: {bytes}\r\n\r\n");
        [head.as_bytes(), &vec![b'.'; SENT]].concat()
    };
    let received = || server.tally.get(Cell::ReceivedBytes);
    let mut holders = [server.client(), server.client()];
    for holder in &mut holders {
        holder.send(part(SENT + 1));
    }
    until(|| received() > 2 * SENT as u64);

    let ask = |client: &mut Client| {
        client.send(part(SENT));
        client.answer().status
    };
    assert_eq!(503, ask(&mut server.client()), "there is room for one block, and a body of four");
    drop(holders);

    until(|| ask(&mut server.client()) == 200);
    server.stop();
}

/// A large body may wait for memory that a stalled client has reserved, but not for ever: after some time the large
/// body goes to a file, and the stalled body goes on in memory. Requests behind it must be answered, too.
#[test]
fn stalled_bodies_are_passed() {
    const BYTES: usize = 600_000;

    let server = Server::start(Config { body_memory: BodyMemory::new(1 << 20), ..config() }, |call| {
        let bytes = call.body.known_bytes().unwrap_or(0);
        text(&mut call.reply, &bytes.to_string())
    });
    let head = format!("POST / HTTP/1.1\r\nHost: test\r\nContent-Length: {BYTES}\r\n\r\n");
    let whole = [head.as_bytes(), &vec![b'.'; BYTES]].concat();
    let received = || server.tally.get(Cell::ReceivedBytes);
    let (first, last) = whole.split_at(400_000);
    let mut stalled = server.client();
    stalled.send(first);
    until(|| received() == first.len() as u64);

    for _ in 0..3 {
        let mut next = server.client();
        next.send(&whole);
        assert_eq!(BYTES.to_string(), next.answer().text());
    }
    stalled.send(last);
    assert_eq!(BYTES.to_string(), stalled.answer().text());
    server.stop();
}

/// A body of many small chunks must let other connections have their turn before it is whole.
#[test]
fn small_chunks_take_turns() {
    const CHUNKS: usize = 10_000;

    let (gate, order) = (Gate::closed(), Arc::new(Mutex::new(Vec::new())));
    let (hold, asked) = (gate.application(), Arc::clone(&order));
    let config = Config { hand_over: HandOver::Never, ..config() };
    let server = Server::start(config, move |call| {
        let path = String::from_utf8(call.request.path().to_vec()).unwrap();
        asked.lock().unwrap().push(path.clone());
        if path == "/slow" {
            return hold(call);
        }
        let bytes = call.unchunked_bytes().unwrap_or(0);
        text(&mut call.reply, &bytes.to_string())
    });
    let (mut chunks, mut holder, mut other) = (server.client(), server.client(), server.client());
    chunks.send("POST /chunks HTTP/1.1\r\nHost: test\r\nTransfer-Encoding: chunked\r\n\r\n");
    // This answer shows that the loop has seen the head that was sent before.
    other.get("/first");
    holder.send(get("/slow"));
    // The loop is inside that call. When it comes back, it finds all the bytes that are sent below: the body first.
    gate.wait();
    chunks.send("1\r\nx\r\n".repeat(CHUNKS) + "0\r\n\r\n");
    other.send(get("/other"));
    gate.open();

    assert_eq!(CHUNKS.to_string(), chunks.answer().text());
    assert_eq!("0", other.answer().text());
    assert_eq!(["/first", "/slow", "/other", "/chunks"], order.lock().unwrap()[..]);
    server.stop();
}
