//! Sends a signal to one thread of this process, and learns when the handler has run in that thread.

use std::io;
use std::sync::atomic::{AtomicI32, AtomicUsize, Ordering};
use std::time::Duration;

use rustix::event::{PollFd, PollFlags, Timespec, poll};

use crate::processes::signal_handlers::handle;
use crate::wake::Wake;

/// The descriptor that the handler writes to; a process has at most one.
static ANSWERED: AtomicI32 = AtomicI32::new(-1);
/// The former handler of the signal, a `fn(c_int)`; 0 if there was none.
static FORMER: AtomicUsize = AtomicUsize::new(0);

/// A signal that can be sent to a single thread. When [`ThreadSignal::send`] returns `true`, the handlers of the signal
/// have run in the thread.
#[derive(Debug)]
pub struct ThreadSignal {
    signal: i32,
    answered: Wake,
}

impl ThreadSignal {
    /// Puts a handler in front of the signal's present handler, which must be a plain one (without `SA_SIGINFO`) and is
    /// still called. The new handler stays as long as the process lives. System calls that it interrupts are restarted
    /// if possible (`SA_RESTART`), whatever flags the former handler was registered with.
    ///
    /// # Errors
    ///
    /// `ResourceBusy` if this process already has such a signal; otherwise errors of sigaction(2).
    pub fn over(signal: i32) -> io::Result<ThreadSignal> {
        let answered = Wake::new()?;
        if ANSWERED.compare_exchange(-1, answered.raw(), Ordering::SeqCst, Ordering::SeqCst).is_err() {
            return Err(io::ErrorKind::ResourceBusy.into());
        }
        let former = handle(signal, on_knock)?;
        let is_plain = former.sa_flags & libc::SA_SIGINFO == 0;
        if is_plain && ![libc::SIG_DFL, libc::SIG_IGN].contains(&former.sa_sigaction) {
            FORMER.store(former.sa_sigaction, Ordering::SeqCst);
        }
        Ok(ThreadSignal { signal, answered })
    }

    /// Sends the signal to a thread, and waits until its handlers have run; returns `false` if that takes longer than
    /// `patience`.
    ///
    /// # Errors
    ///
    /// Errors of `pthread_kill(3)` and poll(2).
    ///
    /// # Safety
    ///
    /// `thread` is a `pthread_t` of this process that does not end meanwhile.
    pub unsafe fn send(&self, thread: u64, patience: Duration) -> io::Result<bool> {
        // A late answer to an earlier signal does not count.
        self.answered.clear();
        // SAFETY: the thread lives, as this function demands.
        match unsafe { libc::pthread_kill(thread, self.signal) } {
            0 => {}
            error => return Err(io::Error::from_raw_os_error(error)),
        }
        let timeout = Timespec::try_from(patience).map_err(io::Error::other)?;
        Ok(poll(&mut [PollFd::new(&self.answered, PollFlags::IN)], Some(&timeout))? > 0)
    }
}

extern "C" fn on_knock(signal: libc::c_int, _: *mut libc::siginfo_t, _: *mut libc::c_void) {
    // SAFETY: `errno` belongs to this thread; the interrupted code must find it unchanged.
    let errno = unsafe { *libc::__errno_location() };
    let former = FORMER.load(Ordering::SeqCst);
    if former != 0 {
        // SAFETY: `former` is a plain handler, as sigaction(2) has said; handlers are never null.
        let former: extern "C" fn(libc::c_int) = unsafe { std::mem::transmute(former) };
        former(signal);
    }
    let one = 1u64.to_ne_bytes();
    // SAFETY: `write` is async-signal-safe and reads 8 bytes of `one`; the descriptor stays open as long as the process
    // lives.
    unsafe { libc::write(ANSWERED.load(Ordering::SeqCst), one.as_ptr().cast(), one.len()) };
    // SAFETY: as above.
    unsafe { *libc::__errno_location() = errno };
}

#[cfg(test)]
mod tests {
    #![allow(clippy::expect_used, reason = "a failure here is the test's result")]

    use std::sync::atomic::{AtomicU32, Ordering};
    use std::sync::mpsc;
    use std::thread;
    use std::time::Duration;

    use super::ThreadSignal;

    static COUNTED: AtomicU32 = AtomicU32::new(0);

    extern "C" fn count(_: libc::c_int) {
        COUNTED.fetch_add(1, Ordering::SeqCst);
    }

    /// A thread that waits in a system call runs the handlers, and then goes on waiting.
    #[test]
    fn answered() {
        let signal = libc::SIGRTMAX() - 3;
        let count: extern "C" fn(libc::c_int) = count;
        // SAFETY: the handler does nothing but count.
        unsafe { libc::signal(signal, count as libc::sighandler_t) };
        let thread_signal = ThreadSignal::over(signal).expect("no other test has made a `ThreadSignal`");
        let (ended, end) = mpsc::channel::<()>();
        let (said, says) = mpsc::channel();
        let waiting = thread::spawn(move || {
            // SAFETY: the call only returns the thread's number.
            said.send(unsafe { libc::pthread_self() }).expect("the test still receives");
            end.recv().is_err()
        });
        let id = says.recv().expect("the thread sends its id");
        for number in 1..=100 {
            // SAFETY: the thread is joined below.
            assert!(unsafe { thread_signal.send(id, Duration::from_secs(60)) }.expect("the thread lives"));
            assert_eq!(number, COUNTED.load(Ordering::SeqCst), "the former handler has run");
        }
        drop(ended);
        assert!(waiting.join().expect("the thread does not panic"));
        assert!(ThreadSignal::over(signal).is_err(), "a process has at most one");
    }
}
