//! The event loop: a value that one thread drives at a time.
//!
//! Everything that is begun and not done lives in here and not on the driver's stack: events taken
//! from the kernel and not looked at, connections with more to do, timers, answers not yet sent.
//! What a driver works with besides (its receive buffer, its scratch head) is the desk, which it
//! takes out for the time of one connection. So another thread can go on wherever this one is.

use std::collections::VecDeque;
use std::io;
use std::os::fd::OwnedFd;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::Arc;
use std::time::SystemTime;

use adyton_files::Site;
use adyton_http1::Head;
use adyton_sys::epoll::{Epoll, Events, Interest};
use adyton_sys::wake::Wake;
use adyton_sys::{clock, socket};
use slab::Slab;

use crate::access_log::AccessLog;
use crate::addresses::Addresses;
use crate::app::App;
use crate::config::Config;
use crate::connection::Connection;
use crate::log::{self, Level};
use crate::reply::Room;
use crate::timer::Wheel;
use crate::watch::Watch;

/// Tokens from here on are listeners; those below are connections.
const LISTENERS: u64 = 1 << 62;

/// The token of the wake-up: a signal, or whoever wants the loop's attention.
const WAKE: u64 = u64::MAX;

/// Connections taken from one listener before the others get their turn.
const ACCEPTS_PER_TURN: u32 = 64;

/// How long nothing is accepted once the process is out of descriptors: trying at once would fail
/// again, and keep a CPU busy with it.
const ACCEPT_PAUSE_MS: u64 = 100;

/// How long the log hears nothing more of it: a full disk is no help.
const ACCEPT_COMPLAINT_MS: u64 = 10_000;

/// What a driver needs for one connection at a time; lent by the loop.
pub(crate) struct Desk {
    pub(crate) buffer: Box<[u8]>,
    pub(crate) head: Head,
    /// An output buffer that waits for its next connection.
    pub(crate) spare: Vec<u8>,
}

impl Desk {
    /// The buffer holds a whole head of the largest size, and what usually follows it.
    fn new(config: &Config) -> Box<Self> {
        let bytes = config.head.head_bytes_max + (64 << 10);
        Box::new(Self { buffer: vec![0; bytes].into(), head: Head::new(), spare: Vec::new() })
    }
}

/// A folder served under a URL prefix.
pub struct Mount {
    /// The prefix, such as `/static`; empty for the whole site.
    pub prefix: Vec<u8>,
    /// What is served there.
    pub site: Site,
    /// Whether a missing file is a question for the application.
    pub falls_through: bool,
}

impl Mount {
    /// Whether `path` is the prefix or lies beneath it: `/app` does not serve `/apple`.
    pub(crate) fn matches(&self, path: &[u8]) -> bool {
        path.strip_prefix(&*self.prefix)
            .is_some_and(|rest| rest.first().is_none_or(|&byte| byte == b'/') || self.prefix.is_empty())
    }
}

/// What a loop is made of.
pub struct Parts {
    /// Limits and timeouts.
    pub config: Config,
    /// Listening sockets, non-blocking.
    pub listeners: Vec<OwnedFd>,
    /// Static folders; the longest matching prefix wins.
    pub mounts: Vec<Mount>,
    /// Where answers are logged.
    pub access_log: Option<AccessLog>,
    /// Wakes the loop, from signal handlers too.
    pub wake: Arc<Wake>,
    /// Whether a clean stop was asked for; looked at when `wake` was woken.
    pub stop: Box<dyn Fn() -> bool + Send + Sync>,
}

/// An event loop over connections.
pub struct Loop<A> {
    pub(crate) app: Option<Arc<A>>,
    pub(crate) config: Config,
    pub(crate) mounts: Vec<Mount>,
    pub(crate) access_log: Option<AccessLog>,
    pub(crate) room: Room,
    pub(crate) timers: Wheel,
    /// Connections that can go on without an event, but gave the others a turn.
    pub(crate) again: VecDeque<usize>,
    pub(crate) now_ms: u64,
    /// Counts the receives, so that what was checked for one is not checked again for it.
    pub(crate) receives: u64,
    /// When running requests have to be done; set once a stop was asked for.
    pub(crate) stopping_ms: Option<u64>,
    epoll: Epoll,
    events: Events,
    next_event: usize,
    listeners: Vec<OwnedFd>,
    /// When accepting goes on; set while there were too few descriptors, or no place.
    accept_paused_ms: Option<u64>,
    /// When the log may hear of it again.
    accept_complaint_ms: u64,
    /// Whether the listeners are watched.
    accepting: bool,
    /// `None` inside marks a connection that is being worked on.
    connections: Slab<Option<Box<Connection>>>,
    addresses: Addresses,
    due: Vec<(usize, u64)>,
    desk: Option<Box<Desk>>,
    attached: bool,
    date_due_ms: u64,
    wake: Arc<Wake>,
}

impl<A: App> Loop<A> {
    /// Makes a loop that is ready to be driven. Requests that no mount answers go to `app`; without
    /// one they are a 404.
    ///
    /// # Errors
    ///
    /// The process is out of descriptors, memory or threads.
    pub fn new(mut parts: Parts, app: Option<Arc<A>>) -> io::Result<Self> {
        parts.mounts.sort_by_key(|mount| std::cmp::Reverse(mount.prefix.len()));
        let now_ms = clock::monotonic_ms();
        let epoll = Epoll::new()?;
        epoll.add(&*parts.wake, WAKE, Interest::Level)?;
        let room = Room {
            date: [b' '; 29],
            server: parts.config.server.clone(),
            watch: Watch::start()?,
            write_idle_timeout_ms: parts.config.write_idle_timeout_ms,
            stop: parts.stop,
        };
        Ok(Self {
            app,
            mounts: parts.mounts,
            access_log: parts.access_log,
            room,
            timers: Wheel::new(now_ms),
            again: VecDeque::new(),
            now_ms,
            receives: 0,
            stopping_ms: None,
            epoll,
            events: Events::new(),
            next_event: 0,
            listeners: parts.listeners,
            accept_paused_ms: None,
            accept_complaint_ms: 0,
            accepting: false,
            connections: Slab::new(),
            addresses: Addresses::new(parts.config.connections_per_address_max),
            due: Vec::new(),
            desk: Some(Desk::new(&parts.config)),
            attached: false,
            date_due_ms: 0,
            config: parts.config,
            wake: parts.wake,
        })
    }

    /// Serves until a stop was asked for and running requests are done.
    ///
    /// # Errors
    ///
    /// The kernel refuses to wait, which no correct program sees.
    pub fn drive(&mut self) -> io::Result<()> {
        self.drive_while(|| true).map(|_| ())
    }

    /// Serves for as long as `wanted` says so, which is asked between two waits for the kernel, or until
    /// the end, as [`Loop::drive`] does; `true` at the end. After a `false`, any thread may drive on.
    ///
    /// # Errors
    ///
    /// As [`Loop::drive`].
    pub fn drive_while(&mut self, wanted: impl Fn() -> bool) -> io::Result<bool> {
        while !self.is_finished() {
            if !wanted() {
                self.detach();
                return Ok(false);
            }
            self.wait()?;
            self.look_at_events();
            self.look_at_timers();
            self.go_on();
        }
        self.detach();
        if let Some(log) = &mut self.access_log {
            log.flush();
        }
        Ok(true)
    }

    fn is_finished(&mut self) -> bool {
        match self.stopping_ms {
            None => false,
            Some(_) if self.connections.is_empty() => true,
            Some(deadline_ms) if self.now_ms < deadline_ms => false,
            Some(_) => {
                let left = self.connections.len();
                log::write(Level::Warning, format_args!("stopped with {left} connections still open"));
                self.attach();
                self.connections.clear();
                true
            }
        }
    }

    fn wait(&mut self) -> io::Result<()> {
        self.update_accepting();
        let timeout_ms = self.timeout_ms();
        if timeout_ms != Some(0) {
            self.detach();
        }
        self.epoll.wait(&mut self.events, timeout_ms)?;
        self.next_event = 0;
        self.now_ms = clock::monotonic_ms();
        if self.now_ms >= self.date_due_ms {
            self.update_date();
        }
        Ok(())
    }

    /// How long the kernel may let us sleep; `None` for ever.
    fn timeout_ms(&mut self) -> Option<u32> {
        if !self.again.is_empty() {
            return Some(0);
        }
        let now_ms = self.now_ms;
        let until = |deadline_ms: u64| deadline_ms.saturating_sub(now_ms);
        let waits = [
            self.timers.next_ms(now_ms),
            self.accept_paused_ms.map(until),
            self.stopping_ms.map(until),
            self.access_log.as_mut().and_then(|log| log.tick(now_ms)).map(u64::from),
        ];
        // One more, because the kernel's clock is finer than ours: waking early would spin.
        waits.into_iter().flatten().min().map(|ms| u32::try_from(ms + 1).unwrap_or(u32::MAX))
    }

    /// Renders the `Date` field (RFC 9110 section 6.6.1) for the second that has begun.
    fn update_date(&mut self) {
        let now = SystemTime::now();
        let text = httpdate::fmt_http_date(now);
        if let Ok(date) = text.as_bytes().try_into() {
            self.room.date = date;
        }
        let since_second = now.duration_since(SystemTime::UNIX_EPOCH).map_or(0, |age| age.subsec_millis());
        self.date_due_ms = self.now_ms + u64::from(1000 - since_second.min(999));
    }

    fn look_at_events(&mut self) {
        while let Some(ready) = self.events.at(self.next_event) {
            self.next_event += 1;
            match ready.token {
                WAKE => self.look_at_wake(),
                token if token >= LISTENERS => {
                    self.accept(token - LISTENERS);
                }
                token => self.turn(usize::try_from(token).unwrap_or(usize::MAX), ready.ending),
            }
        }
    }

    fn look_at_wake(&mut self) {
        self.wake.clear();
        if (self.room.stop)() && self.stopping_ms.is_none() {
            self.begin_stop();
        }
    }

    fn look_at_timers(&mut self) {
        let mut due = std::mem::take(&mut self.due);
        self.timers.take_due(self.now_ms, &mut due);
        for (key, tick) in due.drain(..) {
            if self.timers.fired(key, tick, self.now_ms) {
                self.time_out(key);
            }
        }
        self.due = due;
    }

    fn go_on(&mut self) {
        for _ in 0..self.again.len() {
            if let Some(key) = self.again.pop_front() {
                self.turn(key, false);
            }
        }
    }

    /// Works on one connection for as long as that needs nobody else.
    fn turn(&mut self, key: usize, ending: bool) {
        self.with_desk(key, |this, connection, desk| this.work(key, connection, desk, ending));
    }

    fn time_out(&mut self, key: usize) {
        self.with_desk(key, |this, connection, desk| this.expire(key, connection, desk));
    }

    /// Takes a connection out of the table and lends it the desk. A fault of our own ends that connection and no more.
    fn with_desk(
        &mut self,
        key: usize,
        work: impl FnOnce(&mut Self, Box<Connection>, &mut Desk) -> Option<Box<Connection>>,
    ) {
        let Some(connection) = self.connections.get_mut(key).and_then(Option::take) else { return };
        let mut desk = self.desk.take().unwrap_or_else(|| Desk::new(&self.config));
        let kept =
            catch_unwind(AssertUnwindSafe(|| work(self, connection, &mut desk))).unwrap_or_else(|_| {
                // The panic's own message is in the log already.
                log::write(Level::Error, format_args!("the server itself failed; one connection was closed"));
                desk = Desk::new(&self.config);
                None
            });
        self.desk = Some(desk);
        self.put_back(key, kept);
    }

    fn put_back(&mut self, key: usize, kept: Option<Box<Connection>>) {
        if kept.is_some() {
            self.connections[key] = kept;
        } else {
            self.forget(key);
        }
    }

    fn forget(&mut self, key: usize) {
        self.connections.remove(key);
        self.addresses.leave(key);
        self.timers.clear(key);
        // There is a descriptor again, and a place.
        self.accept_paused_ms = None;
    }

    /// Takes the interpreter, or whatever calls of the application need.
    pub(crate) fn attach(&mut self) {
        if !self.attached
            && let Some(app) = &self.app
        {
            app.attach();
            self.attached = true;
        }
    }

    fn detach(&mut self) {
        if std::mem::take(&mut self.attached)
            && let Some(app) = &self.app
        {
            app.detach();
        }
    }

    /// Takes the connections that wait at a listener, up to a share; `true` when there may be more.
    fn accept(&mut self, index: u64) -> bool {
        let index = usize::try_from(index).unwrap_or(usize::MAX);
        for _ in 0..ACCEPTS_PER_TURN {
            if self.connections.len() >= self.config.connections_max {
                if !self.is_awaited(index) {
                    return false;
                }
                if !self.shed() {
                    self.accept_paused_ms = Some(self.now_ms + ACCEPT_PAUSE_MS);
                    return false;
                }
            }
            let Some(listener) = self.listeners.get(index) else { return false };
            match socket::accept(listener) {
                Ok(Some((socket, peer))) => {
                    let listener = u16::try_from(index).unwrap_or(u16::MAX);
                    self.welcome(Connection::new(socket, peer, listener, self.now_ms));
                }
                Ok(None) => return false,
                // The client was gone before we came; the next one may wait.
                Err(error) if error.kind() == io::ErrorKind::ConnectionAborted => {}
                Err(error) => {
                    // With no descriptor left, accept(2) does not look whether anybody waits.
                    if !self.is_awaited(index) {
                        return false;
                    }
                    let room = self.shed();
                    if !room {
                        self.pause_accepting(&error);
                    }
                    return room;
                }
            }
        }
        true
    }

    /// Whether a connection waits at a listener. The last one that did may be in already, and nobody is closed
    /// to make room for nobody.
    fn is_awaited(&self, index: usize) -> bool {
        let listener = self.listeners.get(index);
        listener.is_some_and(|listener| socket::wait(listener, socket::Until::Readable, 0).unwrap_or(true))
    }

    /// Makes room: closes the eighth of the idle connections that has idled longest, as their clients must expect
    /// (RFC 9112 section 9.5). `false` when none is idle.
    fn shed(&mut self) -> bool {
        let is_idle = |held: &Option<Box<Connection>>| {
            held.as_ref().is_some_and(|held| held.requests > 0 && held.is_idle())
        };
        let idle = self.connections.iter().filter(|(_, held)| is_idle(held));
        let mut keys: Vec<(u64, usize)> = idle.map(|(key, _)| (self.timers.deadline_ms(key), key)).collect();
        if keys.is_empty() {
            return false;
        }
        let count = keys.len().div_ceil(8);
        keys.select_nth_unstable(count - 1);
        let mut closed = false;
        for (_, key) in keys.drain(..count) {
            // A request that has just arrived is answered rather than lost.
            self.turn(key, false);
            if self.connections.get(key).is_some_and(is_idle) {
                self.forget(key);
                closed = true;
            }
        }
        closed
    }

    /// Takes a new connection in. Its first request has often arrived already; when that is the only one, the
    /// connection is answered and closed without ever being watched.
    fn welcome(&mut self, connection: Box<Connection>) {
        let key = self.connections.vacant_key();
        if !self.addresses.enter(key, connection.peer) {
            log::write(Level::Debug, format_args!("a client has too many connections; one more was closed"));
            return;
        }
        let deadline_ms = self.now_ms + self.config.first_byte_timeout_ms;
        self.timers.set(key, deadline_ms);
        self.connections.insert(Some(connection));
        self.turn(key, false);
        // What comes from here on makes an event; what has come since the turn makes one at once.
        if let Some(Some(connection)) = self.connections.get(key)
            && let Err(error) = self.epoll.add(&**connection, key as u64, Interest::Edge)
        {
            self.forget(key);
            self.pause_accepting(&error);
        }
    }

    fn pause_accepting(&mut self, error: &io::Error) {
        if self.now_ms >= self.accept_complaint_ms {
            self.accept_complaint_ms = self.now_ms + ACCEPT_COMPLAINT_MS;
            log::write(
                Level::Error,
                format_args!(
                    "connections cannot be accepted: {error}; trying again every {ACCEPT_PAUSE_MS} ms \
                     (the limit of open files, `ulimit -n`, may be too low)"
                ),
            );
        }
        self.accept_paused_ms = Some(self.now_ms + ACCEPT_PAUSE_MS);
    }

    /// Watches the listeners exactly while connections may be accepted.
    fn update_accepting(&mut self) {
        if self.accept_paused_ms.is_some_and(|until_ms| until_ms <= self.now_ms) {
            self.accept_paused_ms = None;
        }
        let wanted = self.accept_paused_ms.is_none();
        if wanted == self.accepting {
            return;
        }
        for (index, listener) in self.listeners.iter().enumerate() {
            let result = if wanted {
                self.epoll.add(listener, LISTENERS + index as u64, Interest::Level)
            } else {
                self.epoll.remove(listener)
            };
            if let Err(error) = result {
                log::write(Level::Error, format_args!("a listener cannot be watched: {error}"));
            }
        }
        self.accepting = wanted;
    }

    /// No new connections, no further requests: what runs may finish.
    fn begin_stop(&mut self) {
        self.stopping_ms = Some(self.now_ms + self.config.graceful_timeout_ms);
        // What the kernel has accepted for us is ours: a client in the queue would see a reset.
        for index in 0..self.listeners.len() {
            while self.accept(index as u64) {}
        }
        self.listeners.clear();
        let keys: Vec<usize> = self.connections.iter().map(|(key, _)| key).collect();
        for key in keys {
            // A request that has arrived and was not read yet is answered first.
            self.turn(key, false);
            let idle = |held: &Option<Box<Connection>>| held.as_ref().is_some_and(|held| held.is_idle());
            if self.connections.get(key).is_some_and(idle) {
                self.forget(key);
            }
        }
    }
}
