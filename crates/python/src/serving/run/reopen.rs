//! Opens logs again after their files were renamed: a worker gets the order from its supervisor, and a process without
//! one gets SIGUSR1.

use std::io;
use std::os::fd::AsFd as _;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread::JoinHandle;

use adyton_log as log;
use adyton_server::Server;
use adyton_sys::socket;
use adyton_sys::wake::Wake;

/// Has the threads of both logs of this process open the logs again. Failures are logged.
pub(crate) fn reopen(server: &Server) {
    log::reopen();
    server.reopen_log();
}

/// A thread that has the logs opened again whenever it is woken. Dropping this ends it.
pub(crate) struct Reopener {
    wake: Arc<Wake>,
    ends: Arc<AtomicBool>,
    thread: Option<JoinHandle<()>>,
}

impl Reopener {
    /// Starts the thread.
    ///
    /// # Errors
    ///
    /// The process may not have another thread.
    pub(crate) fn start(wake: Arc<Wake>, server: &Arc<Server>) -> io::Result<Self> {
        let ends = Arc::new(AtomicBool::new(false));
        let (woken, ended, server) = (Arc::clone(&wake), Arc::clone(&ends), Arc::clone(server));
        let run = move || {
            while !ended.load(Ordering::SeqCst) {
                // poll(2) fails when memory is short or a signal interrupts it; the loop then tries again.
                if socket::wait_readable(&[woken.as_fd()], u64::MAX).is_ok_and(|readable| readable == [true])
                {
                    woken.clear();
                    if !ended.load(Ordering::SeqCst) {
                        reopen(&server);
                    }
                }
            }
        };
        let thread = std::thread::Builder::new().name("adyton-logs".into()).spawn(run)?;
        Ok(Self { wake, ends, thread: Some(thread) })
    }
}

impl Drop for Reopener {
    fn drop(&mut self) {
        self.ends.store(true, Ordering::SeqCst);
        self.wake.wake();
        // The join fails only if the thread panicked, which its own message has said.
        let _ = self.thread.take().map(JoinHandle::join);
    }
}
