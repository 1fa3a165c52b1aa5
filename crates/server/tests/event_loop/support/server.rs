//! A server and its threads.

use std::net::SocketAddr;
use std::os::fd::{AsFd as _, OwnedFd};
use std::path::PathBuf;
use std::sync::atomic::{AtomicBool, AtomicU32, Ordering};
use std::sync::{Arc, Mutex};
use std::thread::JoinHandle;
use std::time::{Duration, Instant};

use adyton_files::Folder;
use adyton_log::Level;
use adyton_server::tally::Tally;
use adyton_server::{
    Call, CallLimits, Config, Counters, Ending, Outcome, Parts, Passage, Plan, Quota, Site, SiteLimits,
};
use adyton_sys::socket;
use adyton_sys::wake::Wake;

use super::application::{SPAWN, assert_no_faults, attached};
use super::client::Client;
use super::{Closure, PATIENCE, Witness};

/// Connections that wait in the kernel: more than a test makes.
const BACKLOG: u32 = 1024;

/// Limits that no test meets by accident; each test sets the limits that it is about.
pub(crate) fn config() -> Config {
    Config { body_files: Quota::new(1 << 30), server: b"Server: adyton\r\n".to_vec(), ..Config::default() }
}

/// The limits of a site whose application may be silent for `silence_ms`.
pub(crate) fn limits(silence_ms: u64) -> SiteLimits {
    SiteLimits { call: CallLimits { silence_ms, total_ms: 0 }, ..SiteLimits::default() }
}

/// A server.
pub(crate) struct Server {
    pub(crate) address: SocketAddr,
    /// The address of each of its loops.
    pub(crate) addresses: Vec<SocketAddr>,
    /// The unix socket at which the server listens, too: the kernel's buffers of a unix socket have a fixed size.
    pub(crate) path: PathBuf,
    wake: Arc<Wake>,
    stop: Arc<AtomicBool>,
    /// The server's counts.
    pub(crate) tally: Tally,
    inner: Arc<adyton_server::Server>,
    threads: Threads,
}

/// The threads that were started.
type Threads = Arc<Mutex<Vec<JoinHandle<()>>>>;

impl Server {
    /// Serves an application that answers by `answer`, with one loop.
    pub(crate) fn start<F>(config: Config, answer: F) -> Self
    where
        F: Fn(&mut Call<'_>) -> Outcome + Send + Sync + 'static,
    {
        Self::limited(config, limits(60_000), answer)
    }

    /// Serves like [`Server::start`], with these limits for its site.
    pub(crate) fn limited<F>(config: Config, limits: SiteLimits, answer: F) -> Self
    where
        F: Fn(&mut Call<'_>) -> Outcome + Send + Sync + 'static,
    {
        Self::with_loops(config, limits, 1, answer)
    }

    /// Serves like [`Server::limited`], with several loops, each with a port of its own; the unix socket belongs to the
    /// first loop.
    pub(crate) fn with_loops<F>(config: Config, limits: SiteLimits, loops: usize, answer: F) -> Self
    where
        F: Fn(&mut Call<'_>) -> Outcome + Send + Sync + 'static,
    {
        let site = Site::of_app(Arc::new(Closure { answer }), limits);
        Self::serving(config, Plan::new(vec![site]).unwrap(), (0..loops).map(|_| Vec::new()).collect())
    }

    /// Serves a plan, with the folders of each loop.
    pub(crate) fn serving(config: Config, plan: Plan, folders: Vec<Vec<Folder>>) -> Self {
        Self::joined(config, plan, folders, &[])
    }

    /// Serves like [`Server::serving`], with passages to other servers.
    pub(crate) fn joined(
        config: Config,
        plan: Plan,
        folders: Vec<Vec<Folder>>,
        passages: &[OwnedFd],
    ) -> Self {
        static SERVERS: AtomicU32 = AtomicU32::new(0);

        adyton_log::set_level(Level::Error);
        let number = SERVERS.fetch_add(1, Ordering::Relaxed);
        let path = std::env::temp_dir().join(format!("adyton-{}-{number}", std::process::id()));
        let (wake, stop) = (Arc::new(Wake::new().unwrap()), Arc::new(AtomicBool::new(false)));
        let mut addresses = Vec::new();
        let mut parts = Vec::new();
        for (home, folders) in folders.into_iter().enumerate() {
            let tcp = socket::listen_tcp(SocketAddr::from(([127, 0, 0, 1], 0)), BACKLOG, false).unwrap();
            addresses.push(socket::local_address(&tcp).unwrap().unwrap());
            let mut listeners = vec![tcp];
            let own = if home == 0 {
                listeners.push(socket::listen_unix(&path, BACKLOG, None).unwrap());
                Arc::clone(&wake)
            } else {
                Arc::new(Wake::new().unwrap())
            };
            let addresses = listeners.len();
            let passage =
                |end: &OwnedFd| Passage { end: end.try_clone().unwrap(), name: "another".into(), open: None };
            let passages = passages.iter().map(passage).collect();
            parts.push(Parts { listeners, addresses, passages, share: None, folders, wake: own });
        }
        let asked = Arc::clone(&stop);
        let (one, asked) =
            (config.threads == 1, Box::new(move || asked.load(Ordering::SeqCst).then_some(Ending::PROMPT)));
        let tally = Tally::new().unwrap();
        let seen = Tally::open(tally.board().as_fd().try_clone_to_owned().unwrap()).unwrap();
        let server =
            adyton_server::Server::new(config, plan, parts, asked, Some(Arc::new(Witness)), tally).unwrap();
        let server = Arc::new(server);
        let threads = Arc::new(Mutex::new(Vec::new()));
        for number in 0..server.threads() {
            start(&server, &threads, !one || number == 0);
        }
        Self { address: addresses[0], addresses, path, wake, stop, tally: seen, inner: server, threads }
    }

    /// The server that is tested.
    pub(crate) fn inner(&self) -> &adyton_server::Server {
        &self.inner
    }

    /// A new connection.
    pub(crate) fn client(&self) -> Client {
        Client::connect(self.address)
    }

    /// The counts so far.
    pub(crate) fn counters(&self) -> Counters {
        self.inner.counters()
    }

    /// How often the loop has waited for the kernel: a loop that spins does so all the time.
    pub(crate) fn waits(&self) -> u64 {
        self.inner.waits()
    }

    /// Has the loop go to another thread.
    pub(crate) fn change_hands(&self) {
        self.inner.change_hands();
    }

    /// Asks for a clean stop, and returns at once.
    pub(crate) fn ask_stop(&self) {
        self.stop.store(true, Ordering::SeqCst);
        self.wake.wake();
    }

    /// Asks for a clean stop, waits for it, and says how long it took. No thread is left.
    pub(crate) fn stop(self) -> Duration {
        let since = Instant::now();
        self.ask_stop();
        while !self.inner.has_ended() {
            assert!(since.elapsed() < PATIENCE, "the loop does not stop");
            std::thread::sleep(Duration::from_millis(1));
        }
        let took = since.elapsed();
        assert!(self.inner.wait(PATIENCE), "a thread does not end");
        for thread in std::mem::take(&mut *self.threads.lock().unwrap()) {
            thread.join().unwrap();
        }
        assert_eq!((0, 0), (self.counters().threads, self.counters().threads_busy));
        attached(|| self.inner.clear());
        assert_no_faults();
        took
    }
}

impl Drop for Server {
    fn drop(&mut self) {
        // After a failed test, nothing waits for the loop; after a test that has passed, the loop has already ended.
        self.ask_stop();
        let _ = std::fs::remove_file(&self.path);
    }
}

fn start(server: &Arc<adyton_server::Server>, threads: &Threads, enters: bool) {
    let (own, others) = (Arc::clone(server), Arc::clone(threads));
    let thread = std::thread::spawn(move || {
        let (spare, list) = (Arc::clone(&own), Arc::clone(&others));
        SPAWN.set(Some(Box::new(move || start(&spare, &list, true))));
        own.work(enters, 0);
        SPAWN.set(None);
    });
    threads.lock().unwrap().push(thread);
}
