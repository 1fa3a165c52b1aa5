//! Limits of the loop: connections, requests of one connection, and what is read of a refused body.

use std::io::{Read, Write};
use std::time::Instant;

use adyton_server::{Call, Config, Outcome};

use crate::support::{Client, SHORT_MS, Server, assert_timed, config, get, text};

fn hello(call: &mut Call<'_>) -> Outcome {
    text(&mut call.reply, "hello")
}

/// Past the limit, connections wait in the kernel's queue until another ends.
#[test]
fn connections() {
    let server = Server::start(Config { connections_max: 2, ..config() }, hello);
    let mut first = server.client();
    let mut second = server.client();
    first.get("/");
    second.get("/");
    let mut third = server.client();
    third.send(get("/"));

    let waits = server.waits();
    third.expect_silence();
    assert!(server.waits() - waits <= 3, "the loop spins");
    assert_eq!("hello", first.get("/").text());
    drop(second);

    assert_eq!("hello", third.answer().text());
    server.stop();
}

/// The last request of a connection is answered with `close`, and what was pipelined behind it is not.
#[test]
fn requests_of_one_connection() {
    let server = Server::start(Config { keep_alive_requests_max: 3, ..config() }, hello);
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

/// What a client sends behind a refusal is read up to a limit, and for a time; then nobody listens.
#[test]
fn linger() {
    const DRAIN_BYTES: u64 = 64 << 10;

    let config = Config {
        body_bytes_max: 1000,
        drain_bytes_max: DRAIN_BYTES,
        linger_timeout_ms: SHORT_MS,
        ..config()
    };
    let buffer_bytes = (config.head.head_bytes_max + (64 << 10)) as u64;
    let server = Server::start(config, hello);
    let mut client = Client::connect_unix(&server.path);
    let since = Instant::now();
    client.send("POST / HTTP/1.1\r\nHost: test\r\nContent-Length: 100000000\r\n\r\n");

    let mut sent_bytes = 0;
    while let Ok(bytes) = client.socket.write(&[b'.'; 4096]) {
        sent_bytes += bytes as u64;
    }

    assert_timed(since, SHORT_MS);
    let kernel = std::fs::read_to_string("/proc/sys/net/core/wmem_default").unwrap();
    // One receive took the head and what had come with it, one passed the limit.
    let most = DRAIN_BYTES + 2 * buffer_bytes + kernel.trim().parse::<u64>().unwrap();
    assert!((DRAIN_BYTES..most).contains(&sent_bytes), "{sent_bytes} bytes were taken, {most} allowed");
    server.stop();
}

/// The refusal of a body that the client still sends is not lost in a reset.
#[test]
fn linger_saves_the_answer() {
    let server = Server::start(Config { body_bytes_max: 1000, ..config() }, hello);
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

/// A lingering connection that the client has closed counts no more.
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

/// The limit for bodies in files is for all together, and is free again when they are answered.
#[test]
fn disk_space_for_bodies() {
    let config = Config {
        body_memory_bytes_max: 1000,
        body_files: adyton_server::Quota::new(300_000),
        linger_timeout_ms: SHORT_MS,
        ..config()
    };
    let server = Server::start(config, hello);
    // All of them larger than the receive buffer: a body that comes with its head is in memory already.
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
