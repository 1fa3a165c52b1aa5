//! Several loops on the same threads, as with a free-threaded interpreter, use everything that they share at the same
//! time.

use std::io::Write;
use std::net::SocketAddr;
use std::sync::{Mutex, PoisonError};
use std::time::Duration;

use adyton_http::BodySize;
use adyton_server::{Body, Call, Outcome, Pull, SiteLimits};

use crate::support::{Client, Server, begin, config, get, piece, stream, text};

const LOOPS: usize = 3;
const CLIENTS: usize = 2 * LOOPS;
const ROUNDS: usize = 12;
const PIECES: usize = 24;
const PIECE_BYTES: usize = 128 << 10;
const UPLOAD_BYTES: usize = 300 << 10;

/// Answers with pages of four kinds: one waits, one keeps its thread while the client reads, one is pulled, and one
/// reads a body as it comes.
fn answer(call: &mut Call<'_>) -> Outcome {
    match call.request.path() {
        b"/waits" => std::thread::sleep(Duration::from_millis(2)),
        b"/written" => {
            begin(&mut call.reply, BodySize::Unknown);
            for number in 0..PIECES {
                call.reply.write(&piece(number, PIECE_BYTES));
                if call.reply.is_backed_up() && call.reply.wait_for_reader().is_err() {
                    return Outcome::Failed;
                }
            }
            return Outcome::Done;
        }
        b"/pulled" => {
            let mut number = 0;
            return stream(&mut call.reply, move |reply| {
                reply.write(&piece(number, PIECE_BYTES));
                number += 1;
                if number < PIECES { Pull::More } else { Pull::End }
            });
        }
        b"/upload" => {
            let Body::Live(live) = &call.body else { panic!("a body that is read as it comes") };
            let mut live = live.lock().unwrap_or_else(PoisonError::into_inner);
            let mut bytes = 0;
            while !live.is_done() {
                bytes += live.read().unwrap().len();
            }
            // An answer while the body is still being read would make the server give the connection up.
            drop(live);
            return text(&mut call.reply, &bytes.to_string());
        }
        _ => {}
    }
    text(&mut call.reply, "hello")
}

/// Asks for all pages in each round, on a new connection or on the old one; now and then a further client leaves before
/// its answer.
fn ask(client: usize, address: SocketAddr, whole: &[u8]) -> usize {
    let mut connection = Client::connect(address);
    let mut answered = 0;
    for round in 0..ROUNDS {
        for path in ["/", "/waits"] {
            assert_eq!("hello", connection.get(path).text());
        }
        assert!(connection.get("/written").body == whole);
        assert!(connection.get("/pulled").body == whole);
        connection
            .send(format!("POST /upload HTTP/1.1\r\nHost: test\r\nContent-Length: {UPLOAD_BYTES}\r\n\r\n"));
        for _ in 0..3 {
            connection.send(vec![b'x'; UPLOAD_BYTES / 3]);
        }
        assert_eq!(UPLOAD_BYTES.to_string(), connection.answer().text());
        answered += 5;
        if (client + round).is_multiple_of(3) {
            let mut leaves = Client::connect(address);
            leaves.send(get(["/waits", "/written", "/pulled"][round % 3]));
            let _ = leaves.socket.flush();
            drop(leaves);
            connection = Client::connect(address);
        }
    }
    answered
}

/// Every answer must be whole and right, whichever loop and thread it comes from, while the loops change hands.
#[test]
fn everything_at_once() {
    let server = Server::with_loops(
        config(),
        SiteLimits { stream_body: true, ..SiteLimits::default() },
        LOOPS,
        answer,
    );
    let whole: Vec<u8> = (0..PIECES).flat_map(|number| piece(number, PIECE_BYTES)).collect();
    let answered = Mutex::new(0);
    std::thread::scope(|scope| {
        let clients: Vec<_> = (0..CLIENTS)
            .map(|client| {
                let (address, whole, answered) = (server.addresses[client % LOOPS], &whole, &answered);
                scope.spawn(move || *answered.lock().unwrap() += ask(client, address, whole))
            })
            .collect();
        while clients.iter().any(|client| !client.is_finished()) {
            server.change_hands();
            std::thread::sleep(Duration::from_millis(3));
        }
    });

    let counters = server.counters();
    let counted = counters.inline + counters.handed_over + counters.queued;
    let answered = answered.into_inner().unwrap();
    assert_eq!(CLIENTS * ROUNDS * 5, answered);
    assert!(counted >= answered as u64, "{counters:?}");
    server.stop();
}
