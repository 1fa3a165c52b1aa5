//! A supervisor's signals, as a queue with a descriptor: signalfd(2).
//!
//! A process that runs an application has handlers instead: `signal_handlers.rs`.
//!
//! The signals are blocked in this thread, in threads that it starts, and in its children, so that a child gets no
//! signal before it is ready: a worker unblocks them with `signal_handlers::let_pass` before any code of the
//! application runs.

use std::io;
use std::os::fd::{AsFd, AsRawFd, BorrowedFd, FromRawFd, OwnedFd};

/// A signal to a supervisor.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Signal {
    /// SIGTERM.
    Terminate,
    /// SIGINT: Ctrl-C.
    Interrupt,
    /// SIGQUIT.
    Quit,
    /// SIGHUP.
    HangUp,
    /// SIGUSR1.
    User1,
    /// SIGUSR2.
    User2,
    /// SIGTTIN.
    More,
    /// SIGTTOU.
    Fewer,
    /// SIGCHLD: a child has ended.
    Child,
    /// SIGWINCH and all other signals: ignored.
    Other,
}

const ALL: [(libc::c_int, Signal); 9] = [
    (libc::SIGTERM, Signal::Terminate),
    (libc::SIGINT, Signal::Interrupt),
    (libc::SIGQUIT, Signal::Quit),
    (libc::SIGHUP, Signal::HangUp),
    (libc::SIGUSR1, Signal::User1),
    (libc::SIGUSR2, Signal::User2),
    (libc::SIGTTIN, Signal::More),
    (libc::SIGTTOU, Signal::Fewer),
    (libc::SIGCHLD, Signal::Child),
];

/// The signals of a supervisor, blocked, in the order in which they came.
pub struct Signals {
    fd: OwnedFd,
}

impl Signals {
    /// Blocks the signals, and opens the queue. Call this before other threads are started.
    ///
    /// # Errors
    ///
    /// Errors of signalfd(2).
    pub fn block() -> io::Result<Self> {
        // SAFETY: an all-zero `sigset_t` may be given to `sigemptyset`, which makes it a set.
        let mut set: libc::sigset_t = unsafe { std::mem::zeroed() };
        // SAFETY: `set` is a whole `sigset_t`.
        unsafe { libc::sigemptyset(&raw mut set) };
        for (number, _) in ALL {
            // SAFETY: as above, and the number is a signal's.
            unsafe { libc::sigaddset(&raw mut set, number) };
        }
        // If the parent process left SIGCHLD ignored, the end of a child would go unnoticed: sigaction(2).
        // SAFETY: the number is a signal's, and there is no handler for it yet.
        unsafe { libc::signal(libc::SIGCHLD, libc::SIG_DFL) };
        // SAFETY: `set` is only read, and no place for the former mask is given.
        let status = unsafe { libc::pthread_sigmask(libc::SIG_BLOCK, &raw const set, std::ptr::null_mut()) };
        if status != 0 {
            return Err(io::Error::from_raw_os_error(status));
        }
        // SAFETY: -1 asks for a new descriptor; `set` is only read.
        let fd = unsafe { libc::signalfd(-1, &raw const set, libc::SFD_NONBLOCK | libc::SFD_CLOEXEC) };
        if fd == -1 {
            return Err(io::Error::last_os_error());
        }
        // SAFETY: the descriptor is new, and nothing else owns it.
        Ok(Self { fd: unsafe { OwnedFd::from_raw_fd(fd) } })
    }

    /// The next signal; `None` if no signal has come.
    ///
    /// SIGTTIN and SIGTTOU that a terminal sends are not commands: some program of the application has read from or
    /// written to the terminal.
    pub fn next(&self) -> Option<Signal> {
        // SAFETY: all-zero is a valid `signalfd_siginfo`, which is made of numbers.
        let mut info: libc::signalfd_siginfo = unsafe { std::mem::zeroed() };
        let size = size_of::<libc::signalfd_siginfo>();
        // SAFETY: the kernel writes at most `size` bytes to `info`, and any bytes are a valid value.
        let read = unsafe { libc::read(self.fd.as_raw_fd(), (&raw mut info).cast(), size) };
        if usize::try_from(read) != Ok(size) {
            return None;
        }
        let known = ALL.iter().find(|(number, _)| u32::try_from(*number) == Ok(info.ssi_signo));
        let signal = known.map_or(Signal::Other, |(_, signal)| *signal);
        let is_of_terminal =
            info.ssi_code == libc::SI_KERNEL && matches!(signal, Signal::More | Signal::Fewer);
        Some(if is_of_terminal { Signal::Other } else { signal })
    }
}

impl AsFd for Signals {
    fn as_fd(&self) -> BorrowedFd<'_> {
        self.fd.as_fd()
    }
}
