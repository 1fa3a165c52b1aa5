//! Every timeout, if it is short and all others are long, must expire in time, and with the right answer.

use std::sync::mpsc;
use std::time::{Duration, Instant};

use adyton_http::BodySize;
use adyton_server::{Call, Config, Outcome, Payload, SiteLimits};

use crate::support::{Client, PATIENCE, SHORT_MS, Server, assert_timed, begin, config, get, text};

const DRIP: Duration = Duration::from_millis(40);

fn hello(call: &mut Call<'_>) -> Outcome {
    text(&mut call.reply, "hello")
}

/// Sends a byte every [`DRIP`] until something comes back, which is returned with all that follows.
fn drip(mut client: Client, bytes: &[u8]) -> String {
    client.socket.set_read_timeout(Some(DRIP)).unwrap();
    let since = Instant::now();
    for byte in bytes.iter().cycle() {
        assert!(since.elapsed() < PATIENCE, "the server takes it for ever");
        // The server may have closed meanwhile.
        let _ = std::io::Write::write(&mut client.socket, std::slice::from_ref(byte));
        let mut first = [0; 1];
        if let Ok(count @ 1..) = std::io::Read::read(&mut client.socket, &mut first) {
            client.socket.set_read_timeout(Some(PATIENCE)).unwrap();
            let mut all = first[..count].to_vec();
            all.extend(client.rest().0);
            return String::from_utf8(all).unwrap();
        }
    }
    unreachable!("the bytes are repeated for ever")
}

/// A connection on which no byte comes must be closed without an answer.
#[test]
fn first_byte() {
    let server = Server::start(Config { first_byte_timeout_ms: SHORT_MS, ..config() }, hello);
    let since = Instant::now();

    server.client().expect_end();

    assert_timed(since, SHORT_MS);
    server.stop();
}

/// The timeout of a head must be for the whole head, however steadily its bytes come.
#[test]
fn head_in_all() {
    let config = Config { head_timeout_ms: SHORT_MS, first_byte_timeout_ms: 2 * SHORT_MS, ..config() };
    let server = Server::start(Config { linger_timeout_ms: SHORT_MS, ..config }, hello);
    let since = Instant::now();

    let answer = drip(server.client(), b"GET /aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa");

    assert_timed(since, SHORT_MS);
    assert!(answer.starts_with("HTTP/1.1 408 ") && answer.contains("Connection: close"), "{answer}");
    server.stop();
}

/// The timeout of a head must also count for a head that has begun behind an earlier request.
#[test]
fn head_behind_another() {
    let server =
        Server::start(Config { head_timeout_ms: SHORT_MS, linger_timeout_ms: SHORT_MS, ..config() }, hello);
    let mut client = server.client();
    let since = Instant::now();
    client.send(get("/") + "GET /unfinished");

    assert_eq!("hello", client.answer().text());
    assert_eq!(408, client.answer().status);

    assert_timed(since, SHORT_MS);
    server.stop();
}

/// A body that stops coming must time out.
#[test]
fn body_idle() {
    let limits = SiteLimits { body_idle_timeout_ms: SHORT_MS, ..SiteLimits::default() };
    let server = Server::limited(Config { linger_timeout_ms: SHORT_MS, ..config() }, limits, hello);
    let mut client = server.client();
    client.send("POST / HTTP/1.1\r\nHost: test\r\nContent-Length: 10\r\n\r\n1234");
    let since = Instant::now();

    assert_eq!(408, client.answer().status);

    assert_timed(since, SHORT_MS);
    server.stop();
}

/// A body that comes, but too slowly, must time out.
#[test]
fn body_rate() {
    let limits = SiteLimits { body_rate: 1000, body_rate_grace_ms: SHORT_MS, ..SiteLimits::default() };
    let server = Server::limited(Config { linger_timeout_ms: SHORT_MS, ..config() }, limits, hello);
    let mut client = server.client();
    client.send("POST / HTTP/1.1\r\nHost: test\r\nContent-Length: 100000\r\n\r\n");
    let since = Instant::now();

    let answer = drip(client, b"1");

    assert_timed(since, SHORT_MS);
    assert!(answer.starts_with("HTTP/1.1 408 "), "{answer}");
    server.stop();
}

/// A request whose body is slow within the grace time, or fast enough after it, must be served.
#[test]
fn body_rate_is_lenient_at_first() {
    let limits = SiteLimits { body_rate: 1000, body_rate_grace_ms: 20 * SHORT_MS, ..SiteLimits::default() };
    let server = Server::limited(config(), limits, hello);
    let mut client = server.client();
    client.send("POST / HTTP/1.1\r\nHost: test\r\nContent-Length: 10\r\n\r\n");
    for _ in 0..10 {
        std::thread::sleep(DRIP);
        client.send("1");
    }

    assert_eq!("hello", client.answer().text());

    server.stop();
}

/// A large answer, which tells when it is given up.
struct Large(Vec<u8>, mpsc::Sender<()>);

impl Payload for Large {
    fn bytes(&self) -> &[u8] {
        &self.0
    }

    fn is_kept(&self) -> bool {
        false
    }
}

impl Drop for Large {
    fn drop(&mut self) {
        // The test may have ended.
        let _ = self.1.send(());
    }
}

const LARGE_BYTES: usize = 32 << 20;

fn large(gone: mpsc::Sender<()>) -> impl Fn(&mut Call<'_>) -> Outcome + Send + Sync {
    let gone = std::sync::Mutex::new(gone);
    move |call| {
        begin(&mut call.reply, BodySize::Known(LARGE_BYTES as u64));
        call.reply.share(Box::new(Large(vec![b'.'; LARGE_BYTES], gone.lock().unwrap().clone())));
        Outcome::Done
    }
}

/// A client that takes nothing of its answer must time out.
#[test]
fn write_idle() {
    let (sender, gone) = mpsc::channel();
    let server = Server::limited(
        config(),
        SiteLimits { write_idle_timeout_ms: SHORT_MS, ..SiteLimits::default() },
        large(sender),
    );
    let mut client = server.client();
    let since = Instant::now();
    client.send(get("/"));

    gone.recv_timeout(PATIENCE).unwrap();

    assert_timed(since, SHORT_MS);
    assert!(client.rest().0.len() < LARGE_BYTES);
    server.stop();
}

/// A client that takes a little now and then is never idle, but must time out because it is too slow.
#[test]
fn write_rate() {
    let (sender, gone) = mpsc::channel();
    let limits = SiteLimits {
        // Four times the rate at which this client takes bytes at most.
        write_rate: 50_000_000,
        write_rate_grace_ms: SHORT_MS,
        ..SiteLimits::default()
    };
    let server = Server::limited(config(), limits, large(sender));
    let mut client = Client::connect_unix(&server.path);
    let since = Instant::now();
    client.send(get("/"));

    let mut received_bytes = 0;
    while gone.try_recv().is_err() {
        received_bytes += client.read_once(64 << 10).len();
        assert!(received_bytes < LARGE_BYTES / 2, "the server waits for all of it");
        std::thread::sleep(Duration::from_millis(5));
    }

    assert_timed(since, SHORT_MS);
    server.stop();
}

/// A client that reads steadily must not time out, even if the whole answer takes longer than the idle timeout.
#[test]
fn write_idle_counts_from_the_last_progress() {
    let (sender, _gone) = mpsc::channel();
    let idle_ms = 4 * SHORT_MS;
    let server = Server::limited(
        config(),
        SiteLimits { write_idle_timeout_ms: idle_ms, ..SiteLimits::default() },
        large(sender),
    );
    let mut client = Client::connect_unix(&server.path);
    client.send(get("/"));
    let since = Instant::now();
    let mut received_bytes = 0;
    // Slowly at first, so that the whole takes more than two timeouts.
    while received_bytes < LARGE_BYTES {
        if since.elapsed() < Duration::from_millis(2 * idle_ms) {
            std::thread::sleep(Duration::from_millis(10));
        }
        let bytes = client.read_once(64 << 10).len();
        assert!(bytes > 0, "ended after {received_bytes} bytes");
        received_bytes += bytes;
    }

    server.stop();
}

/// A connection that has had its answers, and sends no further request, must time out.
#[test]
fn keep_alive() {
    let idle_ms = 4 * SHORT_MS;
    let server = Server::limited(
        config(),
        SiteLimits { keep_alive_timeout_ms: idle_ms, ..SiteLimits::default() },
        hello,
    );
    let mut client = server.client();
    // Each request begins the time anew.
    for _ in 0..6 {
        assert_eq!("hello", client.get("/").text());
        std::thread::sleep(Duration::from_millis(SHORT_MS));
    }
    client.send(get("/"));
    let since = Instant::now();
    assert_eq!("hello", client.answer().text());

    client.expect_end();

    assert_timed(since, idle_ms - 1);
    server.stop();
}

/// The first byte of a head must end the keep-alive timeout: a head has a timeout of its own.
#[test]
fn keep_alive_ends_with_the_next_head() {
    let server = Server::limited(
        config(),
        SiteLimits { keep_alive_timeout_ms: SHORT_MS, ..SiteLimits::default() },
        hello,
    );
    let mut client = server.client();
    assert_eq!("hello", client.get("/").text());
    client.send("GET / HTTP/1.1\r\n");
    std::thread::sleep(Duration::from_millis(3 * SHORT_MS));
    client.send("Host: test\r\n\r\n");

    assert_eq!("hello", client.answer().text());

    server.stop();
}
