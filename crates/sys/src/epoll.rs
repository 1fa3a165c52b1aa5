//! Readiness of many descriptors at once: epoll(7).

use std::io;
use std::os::fd::{AsFd, OwnedFd};

use rustix::buffer::spare_capacity;
use rustix::event::{PollFd, PollFlags, Timespec, epoll, poll};

use crate::processes::forks;

/// Events taken from the kernel in one call: enough for a busy loop, and 3 KiB to touch.
const EVENTS_MAX: usize = 256;

/// Shortest wait for which waking up to a millisecond early does not matter.
const COARSE_NS: u64 = 5_000_000;

/// Events for which a descriptor is watched.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Interest {
    /// Readable, reported at every wait as long as the descriptor is readable (level-triggered): for wake-ups.
    Level,
    /// Readable, reported as long as the descriptor is readable, but not to all of several instances that watch the
    /// same descriptor (`EPOLLEXCLUSIVE`): for listeners.
    Exclusive,
    /// Each change to readable or writable, reported once (edge-triggered): for connections, which are registered a
    /// single time and never re-armed.
    Edge,
    /// Each change to writable, reported once: for passages that were full.
    Room,
}

/// A descriptor that became ready.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Ready {
    /// The number given at [`Epoll::add`].
    pub token: u64,
    /// Whether the peer has ended its side or the connection is gone. The caller must then call `recv` again even after
    /// a short `recv`, because no further event will report the end.
    pub ending: bool,
}

/// The events of one wait; kept between waits so that nothing is allocated.
pub struct Events {
    list: Vec<epoll::Event>,
}

// SAFETY: the type is not `Send` by itself because an event's data may hold a pointer. Ours hold only numbers:
// `Epoll::add` takes nothing else.
unsafe impl Send for Events {}

impl Events {
    /// Room for [`EVENTS_MAX`] events.
    pub fn new() -> Self {
        Self { list: Vec::with_capacity(EVENTS_MAX) }
    }

    /// The number of events that the last wait brought.
    pub fn len(&self) -> usize {
        self.list.len()
    }

    /// Whether the last wait brought nothing.
    pub fn is_empty(&self) -> bool {
        self.list.is_empty()
    }

    /// The event at `index`, or `None` past the last one.
    pub fn at(&self, index: usize) -> Option<Ready> {
        use epoll::EventFlags as Flags;
        self.list.get(index).map(|event| {
            let flags = event.flags;
            Ready {
                token: event.data.u64(),
                ending: flags.intersects(Flags::RDHUP | Flags::HUP | Flags::ERR),
            }
        })
    }
}

impl Default for Events {
    fn default() -> Self {
        Self::new()
    }
}

/// An epoll instance.
pub struct Epoll {
    fd: OwnedFd,
}

impl Drop for Epoll {
    fn drop(&mut self) {
        forks::disown(&self.fd);
    }
}

impl Epoll {
    /// Makes an instance: `epoll_create1(2)`.
    ///
    /// # Errors
    ///
    /// The process is out of descriptors or memory.
    pub fn new() -> io::Result<Self> {
        let fd = epoll::create(epoll::CreateFlags::CLOEXEC)?;
        forks::own(&fd);
        Ok(Self { fd })
    }

    /// Watches `fd`; its events carry `token`. Closing the descriptor ends the watch.
    ///
    /// # Errors
    ///
    /// Errors of `epoll_ctl(2)`: no memory, or the limit of watches is reached.
    pub fn add(&self, fd: impl AsFd, token: u64, interest: Interest) -> io::Result<()> {
        use epoll::EventFlags as Flags;
        let flags = match interest {
            Interest::Level => Flags::IN,
            Interest::Exclusive => Flags::IN | Flags::EXCLUSIVE,
            Interest::Room => Flags::OUT | Flags::ET,
            Interest::Edge => Flags::IN | Flags::OUT | Flags::RDHUP | Flags::ET,
        };
        Ok(epoll::add(&self.fd, fd, epoll::EventData::new_u64(token), flags)?)
    }

    /// Ends the watch of `fd`, which stays open.
    ///
    /// # Errors
    ///
    /// Errors of `epoll_ctl(2)`: `fd` was not watched.
    pub fn remove(&self, fd: impl AsFd) -> io::Result<()> {
        Ok(epoll::delete(&self.fd, fd)?)
    }

    /// Waits until a descriptor is ready or `timeout_ms` passes; `None` waits for ever.
    /// An interrupting signal ends the wait early, with no events.
    ///
    /// # Errors
    ///
    /// None, if the program is correct.
    pub fn wait(&self, events: &mut Events, timeout_ms: Option<u32>) -> io::Result<()> {
        let timeout = timeout_ms
            .map(|ms| Timespec { tv_sec: i64::from(ms / 1000), tv_nsec: i64::from(ms % 1000) * 1_000_000 });
        events.list.clear();
        match epoll::wait(&self.fd, spare_capacity(&mut events.list), timeout.as_ref()) {
            Ok(_) | Err(rustix::io::Errno::INTR) => Ok(()),
            Err(error) => Err(error.into()),
        }
    }

    /// Waits like [`Epoll::wait`], for at most `timeout_ns`; it may return a millisecond early. A short wait costs a
    /// second system call if nothing is ready yet: before Linux 5.11 epoll can wait only for whole milliseconds.
    ///
    /// # Errors
    ///
    /// None, if the program is correct.
    pub fn wait_ns(&self, events: &mut Events, timeout_ns: u64) -> io::Result<()> {
        if timeout_ns >= COARSE_NS {
            return self.wait(events, Some(u32::try_from(timeout_ns / 1_000_000).unwrap_or(u32::MAX)));
        }
        self.wait(events, Some(0))?;
        if events.is_empty() && timeout_ns > 0 {
            let timeout = Timespec {
                tv_sec: 0,
                // The value is below 10⁹, because `COARSE_NS` is.
                tv_nsec: timeout_ns.cast_signed(),
            };
            match poll(&mut [PollFd::new(&self.fd, PollFlags::IN)], Some(&timeout)) {
                Ok(_) | Err(rustix::io::Errno::INTR) => {}
                Err(error) => return Err(error.into()),
            }
            self.wait(events, Some(0))?;
        }
        Ok(())
    }
}
