//! A loop on a thread, which another thread may take over.

use std::io;
use std::net::SocketAddr;
use std::path::PathBuf;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU32, AtomicUsize, Ordering};
use std::thread::JoinHandle;
use std::time::{Duration, Instant};

use adyton_http1::Limits;
use adyton_server::log::{self, Level};
use adyton_server::{App, Call, Config, Loop, Outcome, Parts, Quota};
use adyton_sys::socket;
use adyton_sys::wake::Wake;

use super::application::assert_no_faults;
use super::client::Client;
use super::{Closure, PATIENCE};

/// Connections that wait in the kernel: more than a test makes.
const BACKLOG: u32 = 1024;

/// Limits that no test meets by accident; each test sets those that it is about.
pub(crate) fn config() -> Config {
    let long_ms = 60_000;
    Config {
        head: Limits::default(),
        refuse_underscores: false,
        body_bytes_max: 1 << 30,
        body_memory_bytes_max: 1 << 20,
        body_files: Quota::new(1 << 30),
        temp_dir: std::env::temp_dir(),
        first_byte_timeout_ms: long_ms,
        head_timeout_ms: long_ms,
        body_idle_timeout_ms: long_ms,
        body_rate: 0,
        body_rate_grace_ms: long_ms,
        write_idle_timeout_ms: long_ms,
        write_rate: 0,
        write_rate_grace_ms: long_ms,
        keep_alive_timeout_ms: long_ms,
        keep_alive_requests_max: 0,
        connections_max: 10_000,
        connections_per_address_max: 0,
        drain_bytes_max: 64 << 10,
        linger_timeout_ms: long_ms,
        graceful_timeout_ms: long_ms,
        server: b"adyton".to_vec(),
    }
}

/// A server with one loop.
pub(crate) struct Server<A: App> {
    pub(crate) address: SocketAddr,
    /// Where it listens besides: the kernel's buffers of a unix socket have a fixed size.
    pub(crate) path: PathBuf,
    asked: Arc<Asked>,
    driver: Option<Driver<A>>,
}

/// The thread that drives; it ends with the loop, and whether that has ended.
type Driver<A> = JoinHandle<io::Result<(Loop<A>, bool)>>;

/// What the driver is asked for from outside.
struct Asked {
    wake: Arc<Wake>,
    stop: AtomicBool,
    change: AtomicBool,
    /// Counts how often the driver was about to wait for the kernel.
    waits: AtomicUsize,
}

impl Asked {
    fn ask(&self, what: &AtomicBool) {
        what.store(true, Ordering::SeqCst);
        self.wake.wake();
    }
}

impl<F: Fn(&mut Call<'_>) -> Outcome + Send + Sync + 'static> Server<Closure<F>> {
    /// Serves what `answer` answers.
    pub(crate) fn start(config: Config, answer: F) -> Self {
        static SERVERS: AtomicU32 = AtomicU32::new(0);

        log::set_level(Level::Error);
        let tcp = socket::listen_tcp(SocketAddr::from(([127, 0, 0, 1], 0)), BACKLOG).unwrap();
        let address = socket::local_address(&tcp).unwrap().unwrap();
        let number = SERVERS.fetch_add(1, Ordering::Relaxed);
        let path = std::env::temp_dir().join(format!("adyton-{}-{number}", std::process::id()));
        let unix = socket::listen_unix(&path, BACKLOG).unwrap();
        let asked = Arc::new(Asked {
            wake: Arc::new(Wake::new().unwrap()),
            stop: AtomicBool::new(false),
            change: AtomicBool::new(false),
            waits: AtomicUsize::new(0),
        });
        let to_stop = Arc::clone(&asked);
        let parts = Parts {
            config,
            listeners: vec![tcp, unix],
            mounts: Vec::new(),
            access_log: None,
            wake: Arc::clone(&asked.wake),
            stop: Box::new(move || to_stop.stop.load(Ordering::SeqCst)),
        };
        let event_loop = Loop::new(parts, Some(Arc::new(Closure { answer }))).unwrap();
        let driver = Some(drive(event_loop, Arc::clone(&asked)));
        Self { address, path, asked, driver }
    }
}

impl<A: App> Server<A> {
    /// A new connection.
    pub(crate) fn client(&self) -> Client {
        Client::connect(self.address)
    }

    /// How often the loop has waited for the kernel: a loop that spins does so all the time.
    pub(crate) fn waits(&self) -> usize {
        self.asked.waits.load(Ordering::SeqCst)
    }

    /// The loop stops between two turns, and another thread drives on.
    pub(crate) fn change_hands(&mut self) {
        self.asked.ask(&self.asked.change);
        let (event_loop, finished) = self.driver.take().unwrap().join().unwrap().unwrap();
        assert!(!finished, "the loop has ended by itself");
        self.asked.change.store(false, Ordering::SeqCst);
        self.driver = Some(drive(event_loop, Arc::clone(&self.asked)));
    }

    /// Asks for a clean stop, and returns at once.
    pub(crate) fn ask_stop(&self) {
        self.asked.ask(&self.asked.stop);
    }

    /// Asks for a clean stop, waits for it, and says how long it took.
    pub(crate) fn stop(mut self) -> Duration {
        let since = Instant::now();
        self.ask_stop();
        let driver = self.driver.take().unwrap();
        while !driver.is_finished() {
            assert!(since.elapsed() < PATIENCE, "the loop does not stop");
            std::thread::sleep(Duration::from_millis(1));
        }
        let (_event_loop, finished) = driver.join().unwrap().unwrap();
        assert!(finished);
        assert_no_faults();
        since.elapsed()
    }
}

impl<A: App> Drop for Server<A> {
    fn drop(&mut self) {
        // After a failed test nobody waits for the loop; after the others it has ended.
        self.ask_stop();
        let _ = std::fs::remove_file(&self.path);
    }
}

fn drive<A: App>(mut event_loop: Loop<A>, asked: Arc<Asked>) -> Driver<A> {
    std::thread::spawn(move || {
        let finished = event_loop.drive_while(|| {
            asked.waits.fetch_add(1, Ordering::SeqCst);
            !asked.change.load(Ordering::SeqCst)
        })?;
        Ok((event_loop, finished))
    })
}
