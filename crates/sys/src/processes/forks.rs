//! Children that an application forks from a running server: fork(2) without exec(2).
//!
//! A forked child has copies of all memory and descriptors of the server, and none of its threads except the forking
//! one. Therefore a handler of `pthread_atfork(3)` makes the child a plain program before any other code runs in it:
//! its signals become what they were before the server took them, and the server's descriptors are closed. Otherwise a
//! long-lived child would keep the address in use, and clients would wait for the end of connections that it holds
//! open. The thread that called the application checks [`is_child`] when the call returns.
//!
//! There is no list of connections, because keeping it would cost each connection time: the handler recognises a
//! connection by its local address, which is the address of a listener. Other descriptors of the server are marked when
//! they are opened ([`own`]).
//!
//! The handler does only what is async-signal-safe: threads that are gone may have held any lock.

use std::ffi::c_int;
use std::mem::MaybeUninit;
use std::os::fd::RawFd;
use std::sync::Once;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};

use rustix::fs::{Mode, OFlags, RawDir};

use crate::files::marks::{LISTENERS, MARKED_MAX, OWN};
pub use crate::files::marks::{Own, disown, own, own_listener};
use crate::processes::signal_handlers;

/// Whether a child that this process forks becomes a plain program.
static IS_WATCHED: AtomicBool = AtomicBool::new(false);

/// Whether this process is such a plain program.
static IS_CHILD: AtomicBool = AtomicBool::new(false);

/// Number of forks that have led to this process.
static GENERATION: AtomicU64 = AtomicU64::new(0);

/// Maximum number of listener addresses that the handler knows; connections of further listeners stay open in children.
const ADDRESSES_MAX: usize = 32;

/// Whether the application forked this process from a server process: the server's state must not be touched here.
#[inline]
pub fn is_child() -> bool {
    IS_CHILD.load(Ordering::Relaxed)
}

/// Number of forks that led to this process, counted since the first call. A thread that was started when the number
/// was different does not exist in this process.
#[inline]
pub fn generation() -> u64 {
    register();
    GENERATION.load(Ordering::Relaxed)
}

fn register() {
    static REGISTERED: Once = Once::new();
    REGISTERED.call_once(|| {
        // SAFETY: the handler is a function of this library, which is never unloaded.
        let refused = unsafe { libc::pthread_atfork(None, None, Some(in_child)) };
        debug_assert!(refused == 0, "there is memory for one handler");
    });
}

/// Makes forked children plain programs until it is dropped.
pub struct Watch(());

/// Makes forked children plain programs from now on.
pub fn watch() -> Watch {
    register();
    IS_WATCHED.store(true, Ordering::SeqCst);
    Watch(())
}

impl Watch {
    /// Watches until the process ends, even while threads are still inside the application.
    pub fn for_good(self) {
        std::mem::forget(self);
    }

    /// Runs `fork`, which forks on purpose: the child that returns from it is a server process, not a plain program.
    pub fn except<R>(&self, fork: impl FnOnce() -> R) -> R {
        IS_WATCHED.store(false, Ordering::SeqCst);
        let forked = fork();
        IS_WATCHED.store(true, Ordering::SeqCst);
        forked
    }
}

impl Drop for Watch {
    fn drop(&mut self) {
        IS_WATCHED.store(false, Ordering::SeqCst);
        // The descriptor numbers may soon belong to other files.
        OWN.clear();
        LISTENERS.clear();
    }
}

/// Runs in every child of fork(2), on its only thread, before fork(2) returns there.
extern "C" fn in_child() {
    GENERATION.fetch_add(1, Ordering::Relaxed);
    if !IS_WATCHED.load(Ordering::SeqCst) {
        return;
    }
    // Children of this plain program are left alone.
    IS_WATCHED.store(false, Ordering::SeqCst);
    IS_CHILD.store(true, Ordering::SeqCst);
    signal_handlers::restore_in_child();
    let addresses = Addresses::of_listeners();
    for_each_open(|number| {
        if addresses.contains(number) {
            close(number);
        }
    });
    OWN.for_each(close);
}

fn close(number: RawFd) {
    // SAFETY: the descriptor is this child's copy of a server's descriptor, and the server's code no longer runs here.
    unsafe { libc::close(number) };
}

/// Calls `act` with every open descriptor that `/proc` lists; without `/proc`, with every possible number.
fn for_each_open(mut act: impl FnMut(RawFd)) {
    let flags = OFlags::RDONLY | OFlags::DIRECTORY | OFlags::CLOEXEC;
    let Ok(folder) = rustix::fs::open(c"/proc/self/fd", flags, Mode::empty()) else {
        return (0..RawFd::try_from(MARKED_MAX).unwrap_or(0)).for_each(act);
    };
    let mut space = [MaybeUninit::uninit(); 4096];
    let mut entries = RawDir::new(&folder, &mut space);
    while let Some(Ok(entry)) = entries.next() {
        let digits = entry.file_name().to_bytes();
        let number = digits.iter().try_fold(0, |number: RawFd, digit| {
            let digit = digit.checked_sub(b'0').filter(|&digit| digit < 10)?;
            number.checked_mul(10)?.checked_add(digit.into())
        });
        if let Some(number) = number {
            act(number);
        }
    }
}

/// The address to which a socket is bound.
#[derive(Clone, Copy)]
struct SocketAddress {
    storage: libc::sockaddr_storage,
    length: libc::socklen_t,
}

impl SocketAddress {
    fn of(socket: RawFd) -> Option<Self> {
        // SAFETY: all-zero is a valid `sockaddr_storage`: a family and bytes.
        let mut storage: libc::sockaddr_storage = unsafe { std::mem::zeroed() };
        let mut length = libc::socklen_t::try_from(size_of_val(&storage)).ok()?;
        // SAFETY: `storage` has `length` bytes; a number that is no socket is an error.
        let failed = unsafe { libc::getsockname(socket, (&raw mut storage).cast(), &raw mut length) };
        (failed == 0).then_some(Self { storage, length })
    }

    /// Port and address of an internet socket.
    fn internet(&self) -> Option<(u16, [u8; 16])> {
        match c_int::from(self.storage.ss_family) {
            libc::AF_INET => {
                // SAFETY: the family says that this is a `sockaddr_in`, for which the storage is aligned and large
                // enough.
                let address = unsafe { *(&raw const self.storage).cast::<libc::sockaddr_in>() };
                let mut bytes = [0; 16];
                bytes[..4].copy_from_slice(&address.sin_addr.s_addr.to_ne_bytes());
                Some((address.sin_port, bytes))
            }
            libc::AF_INET6 => {
                // SAFETY: the family says that this is a `sockaddr_in6`; as above.
                let address = unsafe { *(&raw const self.storage).cast::<libc::sockaddr_in6>() };
                Some((address.sin6_port, address.sin6_addr.s6_addr))
            }
            _ => None,
        }
    }

    /// The address of a unix socket, without its family.
    fn unix(&self) -> &[u8] {
        let length = usize::try_from(self.length).unwrap_or(0).min(size_of_val(&self.storage));
        // SAFETY: all bytes of the storage are initialised, and `length` is not more than its size.
        unsafe { std::slice::from_raw_parts((&raw const self.storage).cast(), length) }
    }

    /// Whether a listener at this address, which may be the wildcard address, has accepted a socket with the address
    /// `other`.
    fn accepts(&self, other: &Self) -> bool {
        if self.storage.ss_family != other.storage.ss_family {
            return false;
        }
        match (self.internet(), other.internet()) {
            (Some((port, listens)), Some((other, is))) => {
                port == other && (listens == is || listens == [0; 16])
            }
            (None, None) => self.unix() == other.unix(),
            _ => false,
        }
    }
}

/// The addresses at which the server listens.
struct Addresses {
    list: [MaybeUninit<SocketAddress>; ADDRESSES_MAX],
    count: usize,
}

impl Addresses {
    fn of_listeners() -> Self {
        let mut all = Self { list: [const { MaybeUninit::uninit() }; ADDRESSES_MAX], count: 0 };
        LISTENERS.for_each(|number| {
            if let Some(address) = SocketAddress::of(number).filter(|_| is_listener(number))
                && !all.known().any(|known| known.accepts(&address))
                && let Some(free) = all.list.get_mut(all.count)
            {
                free.write(address);
                all.count += 1;
            }
        });
        all
    }

    fn known(&self) -> impl Iterator<Item = &SocketAddress> {
        // SAFETY: `of_listeners` has written the first `count` entries.
        self.list[..self.count].iter().map(|address| unsafe { address.assume_init_ref() })
    }

    fn contains(&self, number: RawFd) -> bool {
        self.count > 0
            && SocketAddress::of(number).is_some_and(|own| self.known().any(|listens| listens.accepts(&own)))
    }
}

fn is_listener(number: RawFd) -> bool {
    let mut listens: c_int = 0;
    let Ok(mut length) = libc::socklen_t::try_from(size_of_val(&listens)) else { return false };
    let into = (&raw mut listens).cast();
    // SAFETY: `listens` has `length` bytes; a number that is no socket is an error.
    let failed =
        unsafe { libc::getsockopt(number, libc::SOL_SOCKET, libc::SO_ACCEPTCONN, into, &raw mut length) };
    failed == 0 && listens != 0
}
