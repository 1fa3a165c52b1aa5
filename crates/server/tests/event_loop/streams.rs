//! Streamed answers: pulled as the client takes them, and given up when the client leaves.

use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::mpsc::{self, Receiver, Sender};
use std::time::{Duration, Instant};

use adyton_server::{PENDING_BYTES_MAX, Pull};

use crate::support::{A_MOMENT, Client, End, PATIENCE, Server, config, get, piece, stream};

const PIECE_BYTES: usize = 16 << 10;

/// Tells that the value which holds it was dropped.
struct Dropped(Sender<()>);

impl Drop for Dropped {
    fn drop(&mut self) {
        // The test may have ended.
        let _ = self.0.send(());
    }
}

fn dropped() -> (Dropped, Receiver<()>) {
    let (sender, receiver) = mpsc::channel();
    (Dropped(sender), receiver)
}

/// Waits until a counter stands still, and returns it.
fn settled(counter: &AtomicUsize) -> usize {
    let since = Instant::now();
    let mut last = 0;
    loop {
        std::thread::sleep(A_MOMENT);
        let now = counter.load(Ordering::SeqCst);
        if now == last && now > 0 {
            return now;
        }
        last = now;
        assert!(since.elapsed() < PATIENCE, "still pulled: {now} times");
    }
}

/// Bytes that the kernel keeps for a unix socket that is not read, including its own overhead.
fn kernel_buffer_bytes() -> usize {
    std::fs::read_to_string("/proc/sys/net/core/wmem_default").unwrap().trim().parse().unwrap()
}

/// A client that does not read stops the application at about the high-water mark; reading goes on
/// where it was, and nothing is lost.
#[test]
fn a_client_that_does_not_read_stops_the_pulls() {
    const PIECES: usize = 1000;

    let pulls = Arc::new(AtomicUsize::new(0));
    let counter = Arc::clone(&pulls);
    let server = Server::start(config(), move |call| {
        let counter = Arc::clone(&counter);
        stream(&mut call.reply, move |reply| {
            let number = counter.fetch_add(1, Ordering::SeqCst);
            reply.write(&piece(number, PIECE_BYTES));
            if number + 1 == PIECES { Pull::End } else { Pull::More }
        })
    });
    let mut client = Client::connect_unix(&server.path);
    client.send(get("/"));

    let pulled_bytes = settled(&pulls) * PIECE_BYTES;

    let most = kernel_buffer_bytes() + usize::try_from(PENDING_BYTES_MAX).unwrap() + PIECE_BYTES;
    assert!(pulled_bytes <= most, "{pulled_bytes} bytes pulled, {most} allowed");
    let body = client.answer().body;
    let whole: Vec<u8> = (0..PIECES).flat_map(|number| piece(number, PIECE_BYTES)).collect();
    assert!(body == whole, "{} bytes came of {}", body.len(), whole.len());
    server.stop();
}

/// A stream that is backed up keeps no other client waiting, and neither does one that never ends.
#[test]
fn streams_leave_the_loop_to_others() {
    let server = Server::start(config(), |call| {
        if call.request.path() == b"/" {
            return crate::support::text(&mut call.reply, "short");
        }
        stream(&mut call.reply, |reply| {
            reply.write(&piece(0, PIECE_BYTES));
            Pull::More
        })
    });
    let mut stuck = server.client();
    stuck.send(get("/endless"));
    stuck.read_until("\r\n\r\n");
    let mut greedy = server.client();
    greedy.send(get("/endless"));
    let reader = std::thread::spawn(move || {
        for _ in 0..1000 {
            greedy.read_once(PIECE_BYTES);
        }
    });
    let mut client = server.client();
    for _ in 0..100 {
        assert_eq!("short", client.get("/").text());
    }
    reader.join().unwrap();
    drop(stuck);
    drop(client);
    server.stop();
}

/// Pieces that a pull has written must be sent while the next pull waits.
#[test]
fn a_pull_that_waits_has_earlier_pieces_sent() {
    let (go_on, told) = mpsc::channel();
    let told = Arc::new(std::sync::Mutex::new(told));
    let server = Server::start(config(), move |call| {
        let told = Arc::clone(&told);
        let mut number = 0;
        stream(&mut call.reply, move |reply| {
            reply.before_wait();
            if number > 0 {
                told.lock().unwrap().recv_timeout(PATIENCE).expect("the client has the last piece");
            }
            number += 1;
            reply.write(format!("piece {number};").as_bytes());
            if number == 5 { Pull::End } else { Pull::More }
        })
    });
    let mut client = server.client();
    client.send(get("/"));
    for number in 1..5 {
        client.read_until(&format!("piece {number};"));
        go_on.send(()).unwrap();
    }

    assert_eq!("\r\n8\r\npiece 5;\r\n0\r\n\r\n", String::from_utf8(client.read_until("0\r\n\r\n")).unwrap());
    (0..4).for_each(|_| go_on.send(()).unwrap());
    assert!(client.get("/again").text().ends_with("piece 5;"));
    server.stop();
}

/// A panic and a failure inside a pull cut the answer, drop the stream, and harm no other connection.
#[test]
fn a_failing_pull_cuts_the_answer() {
    for panics in [true, false] {
        let (guard, gone) = dropped();
        let guard = std::sync::Mutex::new(Some(guard));
        let server = Server::start(config(), move |call| {
            let Some(guard) = guard.lock().unwrap().take() else {
                return crate::support::text(&mut call.reply, "on it goes");
            };
            let mut pulls = 0;
            stream(&mut call.reply, move |reply| {
                let _held = &guard;
                pulls += 1;
                reply.write(b"piece");
                match pulls {
                    3 if panics => panic!("meant to happen"),
                    3 => Pull::Failed,
                    _ => Pull::More,
                }
            })
        });
        let mut client = server.client();
        client.send(get("/") + &get("/next"));

        let (rest, end) = client.rest();

        let rest = String::from_utf8(rest).unwrap();
        assert_eq!(3, rest.matches("5\r\npiece\r\n").count(), "{rest}");
        assert!(!rest.contains("0\r\n\r\n") && !rest.contains("on it goes"), "{rest}");
        assert!(matches!(end, End::Closed | End::Reset));
        gone.recv_timeout(PATIENCE).unwrap();
        assert_eq!("on it goes", server.client().get("/").text());
        server.stop();
    }
}

/// If a body that ends with its connection is cut, the connection must be reset: a close would look like the end of the
/// body.
#[test]
fn a_failing_pull_resets_a_client_of_old() {
    let server = Server::start(config(), |call| {
        let mut pulls = 0;
        stream(&mut call.reply, move |reply| {
            pulls += 1;
            reply.write(b"piece");
            if pulls == 3 { Pull::Failed } else { Pull::More }
        })
    });
    let mut client = server.client();
    client.send("GET / HTTP/1.0\r\n\r\n");

    assert_eq!(End::Reset, client.rest().1);

    server.stop();
}

/// A client that goes away ends its stream, which is dropped at once.
#[test]
fn a_client_that_leaves_ends_its_stream() {
    let (guard, gone) = dropped();
    let guard = std::sync::Mutex::new(Some(guard));
    let server = Server::start(config(), move |call| {
        let guard = guard.lock().unwrap().take();
        stream(&mut call.reply, move |reply| {
            let _held = &guard;
            reply.write(&piece(0, PIECE_BYTES));
            Pull::More
        })
    });
    let mut client = server.client();
    client.send(get("/"));
    client.read_until("\r\n\r\n");

    assert_eq!(Err(mpsc::RecvTimeoutError::Timeout), gone.recv_timeout(Duration::from_millis(20)));
    drop(client);

    gone.recv_timeout(PATIENCE).unwrap();
    server.stop();
}
