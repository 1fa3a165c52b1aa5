//! The event loop of one thread: sends requests, takes answers, and counts.
//!
//! A request is sent by a direct `send` as soon as it may be: when the answer before it has come (closed loop), or
//! when it is due and a connection is free (open loop). Sockets are registered once, edge-triggered; the common
//! request costs one `send`, one `recv` and its share of an `epoll_wait`.

use std::collections::VecDeque;
use std::io;
use std::os::fd::AsFd;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};

use adyton_sys::epoll::{Epoll, Events, Interest};
use adyton_sys::fs::Fault;
use adyton_sys::socket;
use adyton_sys::{clock, process};

use crate::counting::answer::Came;
use crate::counting::cause::Cause;
use crate::counting::counts::{DOUBLINGS, Sent};
use crate::counting::tally::{AnswerTimes, Tally};
use crate::generator::arrivals::{Schedule, Share};
use crate::generator::connection::{Connection, Stage};
use crate::generator::draw::Draw;
use crate::generator::in_flight::InFlight;
use crate::generator::learnt::Learnt;
use crate::machine::others;
use crate::plan::{Load, Plan, Until};

/// Time between two looks for late answers.
const TICK_NS: u64 = 10_000_000;

/// Time for which a connection that could not be made is left alone.
const PAUSE_NS: u64 = 10_000_000;

/// Connections that one thread makes at once: more would overflow the listen queue of a healthy server.
const CONNECTING_MAX: usize = 64;

/// Bytes that one `recv` may bring.
const BUFFER_BYTES: usize = 256 << 10;

/// Data that all threads of a run share.
pub(crate) struct Shared<'p> {
    pub(crate) plan: &'p Plan,
    /// All requests of the plan, with the right answer to each.
    pub(crate) learnt: &'p [Learnt],
    /// When the measurement begins.
    pub(crate) start_ns: u64,
    /// When the measurement ends, at the latest.
    pub(crate) end_ns: u64,
    /// Requests that were begun within the measurement.
    pub(crate) tickets: AtomicU64,
    /// Whether the user ends the run early, to see its figures.
    pub(crate) stop: AtomicBool,
    /// Counts of each thread so far.
    pub(crate) progress: Vec<Counted>,
}

impl Shared<'_> {
    /// Returns the request of the plan that was sent.
    #[inline]
    fn learnt(&self, sent: &Sent) -> &Learnt {
        &self.learnt[sent.which as usize]
    }
}

/// Counts of one thread so far, for the line that shows progress.
#[derive(Debug, Default)]
pub(crate) struct Counted {
    pub(crate) right: AtomicU64,
    pub(crate) wrong: AtomicU64,
    pub(crate) doublings: [AtomicU64; DOUBLINGS],
}

/// One thread of the load.
pub(crate) struct Generator<'s, 'p> {
    shared: &'s Shared<'p>,
    thread: usize,
    epoll: Epoll,
    buffer: Vec<u8>,
    connections: Vec<Connection>,
    /// The index from which on connections have not been opened yet.
    not_begun: usize,
    connecting: usize,
    in_flight: InFlight,
    /// Whether no further request may be begun, because the number of requests in the plan is reached.
    exhausted: bool,
    open_loop: Option<OpenLoop>,
    /// Draws for the warm-up and for the measurement: the draws of the measurement must not depend on how fast the
    /// warm-up was.
    draws: [Draw; 2],
    now_ns: u64,
    tally: Tally,
}

/// The state that only an open loop has.
struct OpenLoop {
    schedule: Schedule,
    /// Due times of the requests that are due and have not found a free connection.
    late: VecDeque<u64>,
    /// Connections without a request.
    free: VecDeque<usize>,
}

impl<'s, 'p> Generator<'s, 'p> {
    /// Makes the generator of thread number `thread`.
    ///
    /// # Errors
    ///
    /// The process is out of descriptors.
    pub(crate) fn new(shared: &'s Shared<'p>, thread: usize) -> io::Result<Self> {
        let plan = shared.plan;
        let threads = plan.threads as usize;
        // If the connections do not divide evenly, each of the first threads takes one more.
        let count =
            plan.connections as usize / threads + usize::from(thread < plan.connections as usize % threads);
        let number = u32::try_from(thread).unwrap_or(0);
        let open_loop = match plan.load {
            Load::Closed => None,
            Load::Open { rate, arrivals } => Some(OpenLoop {
                schedule: Schedule::new(
                    rate,
                    arrivals,
                    plan.seed,
                    Share { thread: number, threads: plan.threads },
                ),
                late: VecDeque::new(),
                free: (0..count).collect(),
            }),
        };
        let weights = || shared.learnt.iter().map(|learnt| learnt.request.weight);
        // Each use of the seed has a series of its own; stage 0 is the series of random times.
        let seed = |number: u32, stage: u64| plan.seed ^ (u64::from(number) << 32) ^ (stage << 62);
        let draw = |stage| Draw::new(weights(), seed(number, stage));
        let sample = |connection: usize| seed(number, 3) ^ ((connection as u64) << 44);
        Ok(Self {
            shared,
            thread,
            epoll: Epoll::new()?,
            buffer: vec![0; BUFFER_BYTES],
            connections: (0..count).map(|index| Connection::new(sample(index))).collect(),
            not_begun: 0,
            connecting: 0,
            in_flight: InFlight::new(shared.start_ns),
            exhausted: false,
            tally: Tally::new(shared.start_ns, plan, count),
            open_loop,
            draws: [draw(1), draw(2)],
            now_ns: clock::monotonic_ns(),
        })
    }

    /// Drives the load until the end of the measurement; the connections stay open until the returned value is dropped.
    ///
    /// # Errors
    ///
    /// epoll fails: the kernel is out of memory.
    pub(crate) fn drive(mut self) -> io::Result<(Tally, Vec<Connection>)> {
        if self.open_loop.is_some() {
            process::wake_on_time();
        }
        let began_ns = self.now_ns;
        let mut events = Events::new();
        let mut tick_ns = self.now_ns + TICK_NS;
        let mut before_us = None;
        while !self.is_over() {
            self.begin_some();
            if self.open_loop.is_some() {
                // The time spent on sending since the clock was last read must not make the next request late.
                self.now_ns = clock::monotonic_ns();
            }
            self.send_due(began_ns);
            let wake_ns = self.open_loop.as_ref().map_or(tick_ns, |open| {
                let due_ns = began_ns + open.schedule.next_ns();
                if open.free.is_empty() || self.exhausted { tick_ns } else { due_ns.min(tick_ns) }
            });
            self.epoll.wait_ns(&mut events, wake_ns.min(self.shared.end_ns).saturating_sub(self.now_ns))?;
            self.now_ns = clock::monotonic_ns();
            for event in (0..events.len()).filter_map(|index| events.at(index)) {
                if self.now_ns >= self.shared.end_ns {
                    // An answer that comes from now on is not within the measurement.
                    break;
                }
                self.ready(usize::try_from(event.token).unwrap_or(usize::MAX), event.ending);
            }
            if (tick_ns..self.shared.end_ns).contains(&self.now_ns) {
                tick_ns = self.now_ns + TICK_NS;
                self.tick();
            }
            if before_us.is_none() && self.now_ns >= self.shared.start_ns {
                before_us = Some((clock::thread_us(), others::thread_waited_us()));
            }
        }
        if let Some((cpu_us, waited_us)) = before_us {
            self.tally.cpu_us = clock::thread_us() - cpu_us;
            self.tally.waited_us = others::thread_waited_us().saturating_sub(waited_us);
            self.tally.busy_us = self.tally.cpu_us + self.tally.waited_us;
        }
        Ok(self.finish())
    }

    fn is_over(&self) -> bool {
        self.now_ns >= self.shared.end_ns
            || self.shared.stop.load(Ordering::Relaxed)
            || (self.exhausted && self.in_flight.is_none())
    }

    /// Opens connections for the first time, a few at once. Connections of an open loop then wait for requests that are
    /// due. If each request has a connection of its own, the request opens the connection, and the time to connect
    /// counts.
    fn begin_some(&mut self) {
        while self.not_begun < self.connections.len() && self.connecting < CONNECTING_MAX {
            let index = self.not_begun;
            self.not_begun += 1;
            match self.open_loop {
                None => self.refill(index),
                Some(_) if self.shared.plan.keep_alive && self.connections[index].socket.is_none() => {
                    self.open(index);
                }
                Some(_) => {}
            }
        }
    }

    /// Sends the requests that are due, as far as there are connections for them.
    fn send_due(&mut self, began_ns: u64) {
        let Some(open) = &mut self.open_loop else { return };
        if self.exhausted {
            // The number of requests in the plan has been sent, so the requests in `late` do not count as due.
            open.late.clear();
            return;
        }
        while began_ns + open.schedule.next_ns() <= self.now_ns {
            open.late.push_back(began_ns + open.schedule.next_ns());
            open.schedule.advance();
        }
        while let Some(open) = &mut self.open_loop
            && let Some(due_ns) = open.late.front().copied()
            && let Some(index) = open.free.pop_front()
        {
            open.late.pop_front();
            self.connections[index].is_free = false;
            self.begin(index, due_ns);
        }
    }

    /// Begins requests on a connection of a closed loop, as many as it may have under way.
    fn refill(&mut self, index: usize) {
        while self.connections[index].waiting.len() < self.shared.plan.pipeline as usize {
            let pause = matches!(self.connections[index].stage,
                Stage::Closed { not_before_ns } if not_before_ns > self.now_ns);
            if pause || !self.queue(index, self.now_ns) {
                break;
            }
        }
        self.send(index);
    }

    /// Begins one request of an open loop.
    fn begin(&mut self, index: usize, due_ns: u64) {
        if self.queue(index, due_ns) {
            self.send(index);
        }
    }

    /// Puts one request on a connection, which is opened if need be. Returns false if the plan's number of requests is
    /// reached, or the connection cannot be opened.
    fn queue(&mut self, index: usize, due_ns: u64) -> bool {
        let counted = self.now_ns >= self.shared.start_ns;
        if let (Until::Requests(count), true) = (self.shared.plan.until, counted)
            && (self.exhausted || self.shared.tickets.fetch_add(1, Ordering::Relaxed) >= count)
        {
            self.exhausted = true;
            return false;
        }
        if self.connections[index].socket.is_none() && !self.open(index) {
            return false;
        }
        let sent = self.draw(due_ns, counted);
        self.in_flight.more(1, self.now_ns);
        self.connections[index].queue(sent, self.shared.learnt(&sent).request_bytes);
        true
    }

    /// Draws the next request, and counts it.
    fn draw(&mut self, due_ns: u64, counted: bool) -> Sent {
        let which = self.draws[usize::from(counted)].next();
        let sent = Sent { due_ns, begun_ns: self.now_ns, which, counted };
        self.tally.sent(&sent);
        sent
    }

    /// Opens a connection; an immediate failure counts as a failed request, unless this program lacks a descriptor or a
    /// port.
    fn open(&mut self, index: usize) -> bool {
        let connection = &mut self.connections[index];
        let opened = connection.open(&self.shared.plan.url.address, self.now_ns).and_then(|()| {
            connection
                .socket
                .as_ref()
                .map_or(Ok(()), |socket| self.epoll.add(socket, index as u64, Interest::Edge))
        });
        let Err(error) = opened else {
            self.connecting += 1;
            return true;
        };
        connection.close(self.now_ns + PAUSE_NS);
        match Fault::of(&error) {
            Fault::OutOfFiles => self.tally.own.descriptors += 1,
            _ if error.kind() == io::ErrorKind::AddrNotAvailable => self.tally.own.ports += 1,
            _ => {
                let is_full = error.kind() == io::ErrorKind::WouldBlock;
                let cause = if is_full { Cause::QueueFull } else { Cause::Kernel(error.kind()) };
                let counted = self.now_ns >= self.shared.start_ns;
                let sent = self.draw(self.now_ns, counted);
                self.tally.failed(sent, self.now_ns, cause);
            }
        }
        self.set_free(index);
        false
    }

    fn send(&mut self, index: usize) {
        let connection = &mut self.connections[index];
        // Several requests are under way on a connection only if all are the same.
        let Some(last) = connection.waiting.back() else { return };
        let learnt = self.shared.learnt(last);
        if let Err(error) = connection.send(&learnt.requests, learnt.request_bytes) {
            self.fail(index, Cause::Kernel(error.kind()));
        }
    }

    /// Handles what the kernel reports of a connection.
    fn ready(&mut self, index: usize, ending: bool) {
        let Some(connection) = self.connections.get_mut(index) else { return };
        let Some(socket) = &connection.socket else { return };
        if let Stage::Connecting { since_ns } = connection.stage {
            if let Some(error) = socket::pending_error(socket) {
                self.fail(index, Cause::Kernel(error.kind()));
                return;
            }
            connection.made(self.now_ns);
            self.connecting -= 1;
            self.tally.connected(self.now_ns - since_ns, self.now_ns);
            // Bytes that come before the request is sent cannot be its answer.
            self.receive(index, ending);
            return self.send(index);
        } else if !connection.waiting.is_empty() {
            self.send(index);
        }
        self.receive(index, ending);
    }

    /// Reads the bytes that have come.
    fn receive(&mut self, index: usize, ending: bool) {
        // The socket is gone once an answer has ended the connection.
        while let Some(socket) = &self.connections[index].socket {
            match socket::recv(socket.as_fd(), &mut self.buffer) {
                Ok(None) => break,
                Ok(Some(0)) => return self.ended(index),
                Ok(Some(bytes)) => {
                    self.now_ns = clock::monotonic_ns();
                    if let Err(cause) = self.take(index, bytes) {
                        return self.fail(index, cause);
                    }
                    if bytes < self.buffer.len() && !ending {
                        break;
                    }
                }
                Err(error) => return self.fail(index, Cause::Kernel(error.kind())),
            }
        }
        self.go_on(index);
    }

    /// Reads the first `bytes` of the buffer, and closes the connection if the last answer in them says so.
    fn take(&mut self, index: usize, bytes: usize) -> Result<(), Cause> {
        let connection = &mut self.connections[index];
        let mut rest = &self.buffer[..bytes];
        while !rest.is_empty() {
            let Some(sent) = connection.waiting.front().copied() else { return Err(Cause::Unasked) };
            let learnt = self.shared.learnt(&sent);
            if connection.first_ns == 0 {
                connection.first_ns = self.now_ns;
                self.tally.early += u64::from(sent.counted && connection.is_unsent(learnt.request_bytes));
            }
            let fed = connection.reader.feed(rest, &learnt.expected, &mut |_| {});
            let (taken, answer) = fed.map_err(|refusal| {
                self.tally.wrong(&sent, self.now_ns, || learnt.malformed(rest, refusal.reason));
                Cause::Malformed(refusal.reason)
            })?;
            rest = &rest[taken..];
            let Some(answer) = answer else { continue };
            if !rest.is_empty() && connection.waiting.len() == 1 {
                // It cannot be known which of the answers belongs to the request.
                return Err(Cause::Unasked);
            }
            connection.waiting.pop_front();
            connection.answers += 1;
            self.in_flight.fewer(1, self.now_ns);
            let first_byte_ns = connection.first_byte_ns(&sent);
            connection.first_ns = 0;
            let times = AnswerTimes { first_byte_ns, now_ns: self.now_ns };
            self.tally.answered(index, sent, times, &answer);
            if let Some(looks) = connection.reader.looks.take() {
                self.tally.wrong(&sent, self.now_ns, || learnt.wrong(&looks));
            }
            if !answer.keep_alive || !self.shared.plan.keep_alive {
                return if connection.waiting.is_empty() {
                    connection.close(0);
                    Ok(())
                } else {
                    Err(Cause::EndedBefore)
                };
            }
        }
        Ok(())
    }

    /// Handles the end of a connection by the server.
    fn ended(&mut self, index: usize) {
        let connection = &mut self.connections[index];
        if let Some(sent) = connection.waiting.front().copied()
            && let Some(answer) = connection.reader.end(&self.shared.learnt(&sent).expected)
        {
            connection.waiting.pop_front();
            let first_byte_ns = connection.first_byte_ns(&sent);
            self.now_ns = clock::monotonic_ns();
            self.in_flight.fewer(1, self.now_ns);
            let times = AnswerTimes { first_byte_ns, now_ns: self.now_ns };
            self.tally.answered(index, sent, times, &answer);
            if let Some(looks) = connection.reader.looks.take() {
                self.tally.wrong(&sent, self.now_ns, || self.shared.learnt(&sent).wrong(&looks));
            }
        }
        if connection.waiting.is_empty() {
            connection.close(0);
            return self.go_on(index);
        }
        let cause = if connection.reader.is_between() { Cause::EndedBefore } else { Cause::CutShort };
        self.fail(index, cause);
    }

    /// Lets a connection take another request.
    fn go_on(&mut self, index: usize) {
        match &self.open_loop {
            None => self.refill(index),
            Some(_) => self.set_free(index),
        }
    }

    /// Gives this connection to the next request that is due.
    fn set_free(&mut self, index: usize) {
        let connection = &mut self.connections[index];
        if let Some(open) = &mut self.open_loop
            && connection.waiting.is_empty()
            && !std::mem::replace(&mut connection.is_free, true)
        {
            open.free.push_back(index);
        }
    }

    /// Gives up a connection, and the requests under way on it.
    fn fail(&mut self, index: usize, cause: Cause) {
        let connection = &mut self.connections[index];
        if matches!(connection.stage, Stage::Connecting { .. }) {
            self.connecting -= 1;
        }
        self.in_flight.fewer(connection.waiting.len(), self.now_ns);
        let cause = connection.cause(cause);
        if let Some(sent) = connection.waiting.front() {
            self.tally.interim(sent, connection.reader.interim);
            match cause {
                Cause::TimedOut(Came::PartOfBody) => self.tally.came(connection.reader.come()),
                Cause::EndedKept => self.tally.ended_kept(connection.answers),
                _ => {}
            }
        }
        for (place, sent) in connection.waiting.iter().enumerate() {
            // The cause is the first request's; the requests behind it were only lost with the connection.
            let is_own = place == 0 || matches!(cause, Cause::TimedOut(_));
            let cause = if is_own { cause } else { Cause::EndedBefore };
            self.tally.failed(*sent, self.now_ns, cause);
        }
        connection.close(self.now_ns + PAUSE_NS);
        self.set_free(index);
    }

    /// Looks for late answers, opens closed connections again, and tells the progress.
    fn tick(&mut self) {
        let timeout_ns = self.shared.plan.timeout_ms * 1_000_000;
        for index in 0..self.not_begun {
            let connection = &self.connections[index];
            match connection.waiting.front() {
                Some(sent) if self.now_ns.saturating_sub(sent.begun_ns) >= timeout_ns => {
                    let came = connection.came(self.shared.learnt(sent).request_bytes);
                    self.fail(index, Cause::TimedOut(came));
                }
                None if self.open_loop.is_none() => self.refill(index),
                _ => {}
            }
        }
        let counted = &self.shared.progress[self.thread];
        counted.right.store(self.tally.counts.right, Ordering::Relaxed);
        counted.wrong.store(self.tally.counts.wrong(), Ordering::Relaxed);
        for (told, count) in counted.doublings.iter().zip(self.tally.doublings) {
            told.store(count, Ordering::Relaxed);
        }
    }

    /// Counts the requests without an outcome.
    fn finish(mut self) -> (Tally, Vec<Connection>) {
        let end_ns = self.now_ns.min(self.shared.end_ns);
        for sent in self.connections.iter().flat_map(|connection| &connection.waiting) {
            self.tally.unfinished(*sent, end_ns);
        }
        // After the last request of a given number, no further request was due.
        for due_ns in self.open_loop.iter().filter(|_| !self.exhausted).flat_map(|open| &open.late) {
            self.tally.never_sent(*due_ns, end_ns);
        }
        self.tally.in_flight_mean = self.in_flight.mean(end_ns);
        self.tally.ended_ns = end_ns;
        self.tally.end_run();
        (self.tally, self.connections)
    }
}
