//! Signal handlers for a process that runs an application; a supervisor has a queue instead (`signal_queue.rs`).
//!
//! The first SIGTERM or SIGINT asks for a clean stop; the second one ends the process at once. SIGUSR1 wakes the thread
//! that opens the logs again, if such a thread exists; it never ends the process.
//!
//! The handler does two things, both async-signal-safe (signal-safety(7)): it counts in an atomic and writes to an
//! eventfd. A `signalfd` would need the signals blocked in every thread, and children of the application would inherit
//! that mask.
//!
//! A worker obeys SIGTERM alone. The other signals that its supervisor obeys must not affect a worker, because
//! terminals and `pkill` send them to all processes: a worker has handlers for them that do nothing. Blocking or
//! ignoring them would not do, because programs that the application starts would inherit that, whereas exec(2) resets
//! handlers.
//!
//! The handlers are installed after the application was loaded, so that they replace handlers that it has set. Python
//! code can set handlers later, but only on the main thread; `adyton._process.signals` keeps these handlers from
//! reaching the kernel. A worker leaves SIGUSR1 to the application, if the application has a handler for it.

use std::io;
use std::sync::atomic::{AtomicI32, AtomicU32, Ordering};
use std::sync::{Arc, Mutex, PoisonError};

use crate::wake::Wake;

static ASKED: AtomicU32 = AtomicU32::new(0);
/// The signal that first asked for a stop.
static ASKED_BY: AtomicI32 = AtomicI32::new(0);
static STOP_WAKE: AtomicI32 = AtomicI32::new(-1);
static USER1_WAKE: AtomicI32 = AtomicI32::new(-1);
/// The process that owns the handlers. A forked child has copies of these variables until [`restore_in_child`] runs.
static PROCESS: AtomicI32 = AtomicI32::new(0);
/// The former actions of the signals. The lock is held for moments only, and a forked child never waits for it.
static FORMER: Mutex<Option<[libc::sigaction; SIGNALS.len()]>> = Mutex::new(None);

const SIGNALS: [libc::c_int; 3] = [libc::SIGTERM, libc::SIGINT, libc::SIGUSR1];

/// Signals that a supervisor obeys and its workers do not.
const PASSING: [libc::c_int; 7] =
    [libc::SIGHUP, libc::SIGINT, libc::SIGQUIT, libc::SIGUSR1, libc::SIGUSR2, libc::SIGTTIN, libc::SIGTTOU];

/// A handler that is told which process sent the signal (`SA_SIGINFO`).
pub(crate) type Handler = extern "C" fn(libc::c_int, *mut libc::siginfo_t, *mut libc::c_void);

/// Unblocks every signal, whatever mask this process has inherited, for this process and the programs that it starts.
/// Signals that only its supervisor obeys get a handler that does nothing. Call this before other threads are started,
/// because they inherit the mask.
///
/// # Errors
///
/// Errors of sigaction(2).
pub fn let_pass() -> io::Result<()> {
    for signal in PASSING {
        let former = action_of(signal)?;
        // An ignored signal stays ignored: whoever started the server wanted that, for example with nohup(1).
        if former.sa_sigaction == libc::SIG_DFL {
            handle(signal, on_passing)?;
        }
    }
    // SAFETY: an all-zero `sigset_t` may be given to `sigemptyset`, which makes it a set.
    let mut none: libc::sigset_t = unsafe { std::mem::zeroed() };
    // SAFETY: `none` is a whole `sigset_t`.
    unsafe { libc::sigemptyset(&raw mut none) };
    // SAFETY: `none` is only read, and no place for the former mask is given.
    match unsafe { libc::pthread_sigmask(libc::SIG_SETMASK, &raw const none, std::ptr::null_mut()) } {
        0 => Ok(()),
        error => Err(io::Error::from_raw_os_error(error)),
    }
}

/// The present action of a signal.
fn action_of(signal: libc::c_int) -> io::Result<libc::sigaction> {
    // SAFETY: all-zero is a valid `sigaction` (no flags, empty mask, default action).
    let mut action: libc::sigaction = unsafe { std::mem::zeroed() };
    // SAFETY: nothing is set, and `action` is a whole `sigaction`.
    match unsafe { libc::sigaction(signal, std::ptr::null(), &raw mut action) } {
        0 => Ok(action),
        _ => Err(io::Error::last_os_error()),
    }
}

/// Installs a handler for a signal; returns the former action.
pub(crate) fn handle(signal: libc::c_int, handler: Handler) -> io::Result<libc::sigaction> {
    // SAFETY: all-zero is a valid `sigaction`.
    let [mut action, mut former]: [libc::sigaction; 2] = unsafe { std::mem::zeroed() };
    action.sa_flags = libc::SA_RESTART | libc::SA_SIGINFO;
    action.sa_sigaction = handler as libc::sighandler_t;
    // SAFETY: both point to whole `sigaction`s; the handlers of this file are async-signal-safe.
    match unsafe { libc::sigaction(signal, &raw const action, &raw mut former) } {
        0 => Ok(former),
        _ => Err(io::Error::last_os_error()),
    }
}

/// Sends a signal to the calling thread only (raise(3)); its handler has run when this function returns.
///
/// # Errors
///
/// No such signal exists.
pub fn raise(signal: i32) -> io::Result<()> {
    // SAFETY: nothing is read or written.
    match unsafe { libc::raise(signal) } {
        0 => Ok(()),
        _ => Err(io::Error::last_os_error()),
    }
}

/// The installed handlers; dropping this restores the former actions.
pub struct Handlers {
    former: [libc::sigaction; SIGNALS.len()],
    // The wakes stay open for as long as the handler may write to them.
    _wakes: Wakes,
}

/// The descriptors that the handlers write to in order to wake threads of the server.
struct Wakes {
    /// Wakes the thread that stops the server.
    stop: Arc<Wake>,
    /// Wakes the thread that handles SIGUSR1.
    user1: Option<Arc<Wake>>,
}

impl Handlers {
    /// Takes over SIGTERM and SIGINT, which both wake `stop`, and SIGUSR1, which wakes `user1` if it is given.
    ///
    /// # Errors
    ///
    /// Errors of sigaction(2); or `ResourceBusy` if another server of this process holds the signals.
    pub fn install(stop: Arc<Wake>, user1: Option<Arc<Wake>>) -> io::Result<Self> {
        Self::put(Wakes { stop, user1 }, |_| Some(on_signal))
    }

    /// Takes over signals like [`Self::install`], but for a worker: SIGTERM alone wakes `stop`, SIGINT has no effect,
    /// and SIGUSR1 keeps its action.
    ///
    /// # Errors
    ///
    /// Errors of [`Self::install`].
    pub fn install_in_worker(stop: Arc<Wake>) -> io::Result<Self> {
        Self::put(Wakes { stop, user1: None }, |signal| match signal {
            libc::SIGTERM => Some(on_signal),
            libc::SIGINT => Some(on_passing),
            _ => None,
        })
    }

    fn put(wakes: Wakes, handler_of: impl Fn(libc::c_int) -> Option<Handler>) -> io::Result<Self> {
        let Wakes { stop, user1 } = &wakes;
        if STOP_WAKE.compare_exchange(-1, stop.raw(), Ordering::SeqCst, Ordering::SeqCst).is_err() {
            return Err(io::Error::new(io::ErrorKind::ResourceBusy, "a server already runs in this process"));
        }
        USER1_WAKE.store(user1.as_ref().map_or(-1, |wake| wake.raw()), Ordering::SeqCst);
        // SAFETY: asks for a number.
        PROCESS.store(unsafe { libc::getpid() }, Ordering::SeqCst);
        ASKED.store(0, Ordering::SeqCst);
        ASKED_BY.store(0, Ordering::SeqCst);
        // SAFETY: all-zero is a valid `sigaction`.
        let mut former: [libc::sigaction; SIGNALS.len()] = unsafe { std::mem::zeroed() };
        for (signal, former) in SIGNALS.into_iter().zip(&mut former) {
            let done =
                handler_of(signal).map_or_else(|| action_of(signal), |handler| handle(signal, handler));
            *former = done.inspect_err(|_| forget_wakes())?;
        }
        *FORMER.lock().unwrap_or_else(PoisonError::into_inner) = Some(former);
        Ok(Self { former, _wakes: wakes })
    }

    /// Whether a stop was asked for.
    pub fn stop_asked(&self) -> bool {
        ASKED.load(Ordering::Relaxed) > 0
    }

    /// The number of the signal that has asked for a stop, if one has.
    pub fn stop_signal(&self) -> Option<i32> {
        Some(ASKED_BY.load(Ordering::Relaxed)).filter(|signal| *signal > 0)
    }
}

impl Drop for Handlers {
    fn drop(&mut self) {
        *FORMER.lock().unwrap_or_else(PoisonError::into_inner) = None;
        for (signal, former) in SIGNALS.into_iter().zip(&self.former) {
            // SAFETY: sigaction(2) itself has filled in `former`.
            unsafe { libc::sigaction(signal, former, std::ptr::null_mut()) };
        }
        forget_wakes();
    }
}

fn forget_wakes() {
    STOP_WAKE.store(-1, Ordering::SeqCst);
    USER1_WAKE.store(-1, Ordering::SeqCst);
}

/// Restores, in a child that the application has forked, the actions that the signals had before this server took them.
/// Handlers that the application has set since then stay. Async-signal-safe.
pub(crate) fn restore_in_child() {
    let former = FORMER.try_lock().ok().and_then(|former| *former);
    for signal in SIGNALS.into_iter().chain(PASSING) {
        let Ok(now) = action_of(signal) else { continue };
        if !is_ours(&now) {
            continue;
        }
        let before = former.into_iter().flat_map(|former| SIGNALS.into_iter().zip(former));
        let before = before.into_iter().find(|(other, before)| *other == signal && !is_ours(before));
        // SAFETY: all-zero is a valid `sigaction`: the default.
        let action = before.map_or_else(|| unsafe { std::mem::zeroed() }, |(_, before)| before);
        // SAFETY: `action` is a whole `sigaction`, from sigaction(2) itself or the default.
        unsafe { libc::sigaction(signal, &raw const action, std::ptr::null_mut()) };
    }
}

fn is_ours(action: &libc::sigaction) -> bool {
    let ours: [Handler; 2] = [on_signal, on_passing];
    ours.into_iter().any(|handler| action.sa_sigaction == handler as libc::sighandler_t)
}

/// Does nothing, except for a SIGTTIN or SIGTTOU that the terminal sends because this process reads or writes there
/// from the background. The interrupted call would restart after this handler, again and again; with the signal ignored
/// from now on, the call fails with EIO instead.
extern "C" fn on_passing(signal: libc::c_int, info: *mut libc::siginfo_t, _: *mut libc::c_void) {
    // SAFETY: the kernel passes a whole `siginfo_t` to a handler with `SA_SIGINFO`.
    let is_of_kernel = unsafe { (*info).si_code } == libc::SI_KERNEL;
    if is_of_kernel && matches!(signal, libc::SIGTTIN | libc::SIGTTOU) {
        // SAFETY: `signal` is async-signal-safe, and nothing else is read or written.
        unsafe { libc::signal(signal, libc::SIG_IGN) };
    }
}

extern "C" fn on_signal(signal: libc::c_int, _: *mut libc::siginfo_t, _: *mut libc::c_void) {
    // SAFETY: `getpid` is async-signal-safe, and asks for a number.
    if unsafe { libc::getpid() } != PROCESS.load(Ordering::SeqCst) {
        // This is a forked child whose fork handler has not run yet: the descriptors below are still the server's.
        restore_in_child();
        // SAFETY: `raise` is async-signal-safe; the signal comes again once this handler has returned.
        unsafe { libc::raise(signal) };
        return;
    }
    let is_user1 = signal == libc::SIGUSR1;
    if !is_user1 {
        if ASKED.fetch_add(1, Ordering::SeqCst) > 0 {
            // SAFETY: `_exit` is async-signal-safe; the second signal means "at once".
            unsafe { libc::_exit(128 + signal) };
        }
        ASKED_BY.store(signal, Ordering::SeqCst);
    }
    let wake = if is_user1 { &USER1_WAKE } else { &STOP_WAKE }.load(Ordering::SeqCst);
    if wake >= 0 {
        let one = 1u64.to_ne_bytes();
        // SAFETY: `errno` belongs to this thread; the interrupted code must find it unchanged.
        let errno = unsafe { *libc::__errno_location() };
        // SAFETY: `write` is async-signal-safe, reads 8 bytes of `one`, and `wake` stays open
        // while the handler is installed.
        unsafe { libc::write(wake, one.as_ptr().cast(), one.len()) };
        // SAFETY: as above.
        unsafe { *libc::__errno_location() = errno };
    }
}
