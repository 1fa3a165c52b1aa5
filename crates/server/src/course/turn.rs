//! A connection's turn: the connection goes from phase to phase until it has to wait.

use adyton_http1::{Head, Parsed};
use adyton_log::{self as log, messages};
use adyton_sys::pipe::Channel;

use crate::answering::answer::After;
use crate::answering::errand::Errand;
use crate::answering::exchange::Exchange;
use crate::answering::outcome::Stream;
use crate::answering::refusals::{TOO_SLOW, start_of};
use crate::answering::reply::PENDING_BYTES_MAX;
use crate::answering::step::{Next, Step, Worked};
use crate::board::tally::Cell;
use crate::client::body::{Received, UploadFailure};
use crate::client::connection::{Connection, Linger, Phase, Respond, after_live};
use crate::client::held::Held;
use crate::client::output::Flushed;
use crate::client::reader::Reader;
use crate::event_loop::Loop;
use crate::threads::desk::Desk;
use crate::threads::task::NO_KEY;

/// Pulls from one stream before the other connections get their turn: a mebibyte in all.
const PULLS_PER_TURN: u32 = 4;

/// Receives of one body before the other connections get their turn.
const RECEIVES_PER_TURN: u32 = 16;

/// Pieces of data of one body, each a chunk or more, that are decoded before the other connections get their turn: a
/// client that sends a byte in each chunk would keep the loop for milliseconds with every receive.
const PARTS_PER_TURN: u32 = 1024;

/// The result of receiving some of a body.
enum BodyPart {
    Some,
    /// No bytes are there now.
    Nothing,
    /// The body has to wait for memory.
    Waits,
}

impl Loop {
    /// Works on a connection until it waits, ends, or goes away to the application.
    pub(crate) fn work(&mut self, key: usize, connection: Box<Connection>, desk: &mut Desk) -> Worked {
        self.work_on(key, Step::On(connection, Next::Continue), desk)
    }

    /// Works on a connection like [`Loop::work`], after a first step.
    pub(crate) fn work_on(&mut self, key: usize, first: Step, desk: &mut Desk) -> Worked {
        let (mut step, mut is_first) = (first, true);
        loop {
            let (connection, next) = match step {
                Step::On(connection, next) => (connection, next),
                Step::Away(errand) => return Worked::Away(errand),
            };
            match next {
                Next::Continue if is_first => {}
                // Bytes that are received now may have come later than the event.
                Next::Continue => self.looks += 1,
                // The kernel has announced the peer's end together with its last bytes, and will not announce it again.
                Next::Wait if self.connections.take_ending(key) => {}
                Next::Wait => return Worked::Kept(connection),
                Next::Again => {
                    self.queue(key);
                    return Worked::Kept(connection);
                }
                Next::Close => return Worked::Ended(self.close(*connection)),
            }
            is_first = false;
            step = match connection.phase {
                Phase::Head => self.receive_head(key, connection, desk),
                Phase::Upload(_) => self.receive_body(key, connection, desk),
                Phase::Respond(_) => self.respond(key, connection, desk),
                Phase::Depart(departing) => self.depart(key, connection, desk, departing),
                Phase::Linger(_) => linger(connection, desk),
            };
        }
    }

    /// Ends a connection. Returns an errand if the rest of a stream has to be dropped.
    fn close(&mut self, mut connection: Connection) -> Option<Errand> {
        let Phase::Respond(mut respond) = std::mem::replace(&mut connection.phase, Phase::Head) else {
            return None;
        };
        self.log_streamed(&connection, &respond);
        let stream = respond.stream.take()?;
        self.send(NO_KEY, Errand::Discard(stream, connection.outbox().terms.limits.call))
    }

    /// Sends the answers written so far, and decides on the connection's next step.
    pub(crate) fn settle(
        &mut self,
        key: usize,
        mut connection: Box<Connection>,
        desk: &mut Desk,
        after: After,
    ) -> Step {
        let outbox = connection.outbox_mut();
        let ends = matches!(after, After::Close | After::Linger);
        let flushed = if ends { outbox.flush_and_end() } else { outbox.flush() };
        match flushed {
            Ok(Flushed::All) => {
                outbox.output.give_back(&mut desk.spare);
                self.after_answer(key, connection, after)
            }
            Ok(flushed) => {
                connection.phase = Phase::Respond(Box::new(Respond::new(after)));
                self.watch_reader(key, &mut connection);
                wait_for_reader(connection, flushed)
            }
            Err(error) => {
                note_end(&error);
                Step::On(connection, Next::Close)
            }
        }
    }

    /// Goes on after everything is sent: with the next request, with lingering, or with the end.
    fn after_answer(&mut self, key: usize, mut connection: Box<Connection>, after: After) -> Step {
        match after {
            After::Close => Step::On(connection, Next::Close),
            After::Reset => {
                connection.transport().reset_on_close();
                Step::On(connection, Next::Close)
            }
            After::Linger => {
                connection.transport().end();
                let deadline_ms = self.now_ms + self.shared.config.linger_timeout_ms;
                self.timers.set(key, deadline_ms);
                connection.carry = Vec::new();
                connection.phase =
                    Phase::Linger(Box::new(Linger { bytes_left: self.shared.config.drain_bytes_max }));
                Step::On(connection, Next::Continue)
            }
            After::Next => {
                connection.phase = Phase::Head;
                let deadline_ms = if connection.carry.is_empty() {
                    self.now_ms + connection.outbox().terms.limits.keep_alive_timeout_ms
                } else {
                    // No request may have been answered since the head began, so its time goes on.
                    connection.since_ms + self.shared.config.head_timeout_ms
                };
                self.timers.set(key, deadline_ms);
                // Bytes in the buffer come first, and the socket is looked at after them.
                let goes_on = connection.unparsed || connection.more;
                let next = match goes_on {
                    true if !self.is_turn_over(&connection) => Next::Continue,
                    true => Next::Again,
                    false => Next::Wait,
                };
                if next != Next::Continue {
                    connection.requests_before = connection.requests;
                }
                Step::On(connection, next)
            }
        }
    }

    /// Goes on with an answer: sends it, and pulls more when everything is sent.
    fn respond(&mut self, key: usize, mut connection: Box<Connection>, desk: &mut Desk) -> Step {
        match connection.flush() {
            Ok(Flushed::All) => {}
            Ok(flushed) => return wait_for_reader(connection, flushed),
            Err(error) => {
                note_end(&error);
                return Step::On(connection, Next::Close);
            }
        }
        let Phase::Respond(mut respond) = std::mem::replace(&mut connection.phase, Phase::Head) else {
            unreachable!("only called in this phase")
        };
        // Bytes that come from now on make their event while the application has the exchange.
        respond.missed = true;
        if respond.is_script {
            return self.respond_from_script(key, connection, respond, desk);
        }
        if respond.stream.is_none() {
            return self.finish(key, connection, *respond, desk);
        }
        if respond.pulls == PULLS_PER_TURN {
            respond.pulls = 0;
            connection.phase = Phase::Respond(respond);
            return Step::On(connection, Next::Again);
        }
        respond.pulls += 1;
        let (Some(stream), Some(mut exchange)) = (respond.stream.take(), respond.exchange.take()) else {
            unreachable!("a stream has its exchange")
        };
        connection.phase = Phase::Respond(respond);
        connection.outbox_mut().output.lend(&mut desk.spare);
        exchange.answer.outbox = connection.outbox.take();
        // The client may have sent something meanwhile.
        exchange.is_last = false;
        self.connections.put_away(key, connection);
        Step::Away(self.send(key, Errand::Pull(exchange, stream)))
    }

    /// Goes on after the application has given the next pieces of an answer.
    pub(crate) fn pulled(
        &mut self,
        exchange: Box<Exchange>,
        stream: Option<Box<dyn Stream>>,
        desk: &mut Desk,
    ) -> Option<Errand> {
        let key = exchange.key;
        self.guarded(key, desk, |this, desk| {
            let mut connection = this.connections.take_away(key);
            connection.come_back(exchange, stream);
            this.work(key, connection, desk)
        })
    }

    /// Watches how fast the client reads the rest of its answer, and how many bytes all unread answers hold.
    pub(crate) fn watch_reader(&mut self, key: usize, connection: &mut Connection) {
        let reader = Reader::new(connection.outbox(), self.now_ms);
        let held = if let Phase::Respond(respond) = &mut connection.phase {
            respond.reader = reader;
            respond.held.take()
        } else {
            None
        };
        let mut held = held.unwrap_or_else(|| Held::new(&self.shared.output_bytes));
        if held.is_too_much(&connection.outbox().output, PENDING_BYTES_MAX, &self.shared.config) {
            held.store(connection.outbox_mut(), &self.shared.config);
        }
        if let Phase::Respond(respond) = &mut connection.phase {
            respond.held = Some(held);
        }
        self.timers.set(key, self.now_ms + Reader::look_again_ms(&connection.outbox().terms.limits));
    }

    /// Goes on with an answered connection that has come back and has missed nothing meanwhile: the next request makes
    /// an event.
    pub(crate) fn go_on(&mut self, key: usize, mut connection: Box<Connection>, desk: &mut Desk) -> Worked {
        let Phase::Respond(respond) = std::mem::replace(&mut connection.phase, Phase::Head) else {
            unreachable!("only called in this phase")
        };
        let step = self.finish(key, connection, *respond, desk);
        self.work_on(key, step, desk)
    }

    /// Ends an answer that is sent: the connection goes on with its next step.
    fn finish(
        &mut self,
        key: usize,
        mut connection: Box<Connection>,
        respond: Respond,
        desk: &mut Desk,
    ) -> Step {
        connection.outbox_mut().output.give_back(&mut desk.spare);
        let missed = respond.missed;
        let after = self.after(&mut connection, respond, desk);
        connection.more |= missed;
        self.after_answer(key, connection, after)
    }

    /// Returns a connection's next step after an answer that is sent, which is logged if it was streamed.
    fn after(&mut self, connection: &mut Connection, mut respond: Respond, desk: &mut Desk) -> After {
        self.log_streamed(connection, &respond);
        let Some(mut exchange) = respond.exchange.take() else { return respond.after };
        let answer = &mut exchange.answer;
        let is_cut = answer.is_cut();
        let after = match answer.live.take() {
            _ if is_cut => answer.after_cut(),
            Some(live) if after_live(connection, &live) == After::Linger => After::Linger,
            _ if respond.after == After::Close && (connection.unparsed || connection.more) => After::Linger,
            _ => respond.after,
        };
        desk.keep_exchange(exchange);
        after
    }

    /// Counts and logs a streamed answer, whole or not: the bytes that the client got count.
    fn log_streamed(&mut self, connection: &Connection, respond: &Respond) {
        let Some(exchange) = &respond.exchange else { return };
        let Exchange { head: bytes, answer, started_us, .. } = &**exchange;
        let mut head = Head::new();
        let parsed = matches!(head.parse(bytes, &self.shared.config.head), Ok(Parsed::Complete));
        self.log_answer(connection.outbox(), parsed.then(|| head.of(bytes)), bytes, answer, *started_us);
    }

    /// Looks at how fast the client reads, and ends its connection if it is too slow.
    fn look_at_reader(&mut self, key: usize, mut connection: Box<Connection>, desk: &mut Desk) -> Worked {
        if matches!(&connection.phase, Phase::Respond(respond) if respond.is_script)
            && connection.outbox().output.is_empty()
        {
            // The client has nothing to read.
            return self.work(key, connection, desk);
        }
        let Phase::Respond(mut respond) = std::mem::replace(&mut connection.phase, Phase::Head) else {
            unreachable!("only called in this phase")
        };
        let too_slow = respond.reader.is_too_slow(connection.outbox(), self.now_ms);
        connection.phase = Phase::Respond(respond);
        if too_slow {
            log::write(&messages::CLIENT_SLOW, format_args!("a client reads its answer too slowly; closed"));
            // Without a reset the kernel would keep the sent bytes for minutes, for a client that does not take them.
            connection.transport().reset_on_close();
            return Worked::Ended(self.close(*connection));
        }
        self.timers.set(key, self.now_ms + Reader::look_again_ms(&connection.outbox().terms.limits));
        Worked::Kept(connection)
    }

    /// Receives more of a request body.
    fn receive_body(&mut self, key: usize, mut connection: Box<Connection>, desk: &mut Desk) -> Step {
        // The output is `100 Continue`, or the answer to an earlier request.
        if !connection.outbox().output.is_empty() && connection.flush().is_err() {
            return Step::On(connection, Next::Close);
        }
        let limits = connection.outbox().terms.limits;
        // The channel leads into a file, if the body goes there; if it were kept for longer, it would take up
        // descriptors.
        let (mut parts_left, mut channel) = (PARTS_PER_TURN, None);
        for _ in 0..RECEIVES_PER_TURN {
            match self.receive_part(&mut connection, desk, &mut parts_left, &mut channel) {
                Ok(BodyPart::Some) => {}
                Ok(BodyPart::Nothing) => return Step::On(connection, Next::Wait),
                Ok(BodyPart::Waits) => return self.await_memory(key, connection),
                Err(UploadFailure::Gone) => return Step::On(connection, Next::Close),
                Err(UploadFailure::Refused(refusal)) => {
                    let start = start_of_request(&connection);
                    return self.refuse(key, connection, desk, refusal, &start);
                }
            }
            let Phase::Upload(upload) = &mut connection.phase else {
                unreachable!("only called in this phase")
            };
            if upload.is_done() {
                return self.answer_upload(key, connection, desk);
            }
            let age_ms = self.now_ms.saturating_sub(upload.since_ms);
            if age_ms > limits.body_rate_grace_ms && upload.bytes() * 1000 < limits.body_rate * age_ms {
                let start = start_of(&upload.head);
                return self.refuse(key, connection, desk, TOO_SLOW, &start);
            }
            upload.lapse(self.now_ms);
            let deadline_ms = self.now_ms + limits.body_idle_timeout_ms;
            self.timers.set(key, deadline_ms);
            if connection.unparsed {
                break;
            }
        }
        Step::On(connection, Next::Again)
    }

    /// Receives some of a request body, and keeps the received bytes that are left over.
    fn receive_part(
        &self,
        connection: &mut Connection,
        desk: &mut Desk,
        parts_left: &mut u32,
        channel: &mut Option<Channel>,
    ) -> Result<BodyPart, UploadFailure> {
        let Connection { outbox, phase, carry, unparsed, more, .. } = &mut *connection;
        let (Phase::Upload(upload), Some(outbox)) = (phase, outbox) else {
            unreachable!("only called in this phase")
        };
        let filled = if *unparsed {
            *unparsed = false;
            let carry = std::mem::take(carry);
            desk.buffer[..carry.len()].copy_from_slice(&carry);
            carry.len()
        } else {
            *more = false;
            let is_direct = upload.is_direct();
            if is_direct && !self.admits(upload) {
                return Ok(BodyPart::Waits);
            }
            let received = if is_direct {
                upload.receive(&mut outbox.transport, channel, &self.shared.config)?
            } else {
                let received = outbox.transport.receive(&mut desk.buffer)?;
                received.map(|bytes| Received { bytes, more: bytes == desk.buffer.len() })
            };
            let Some(received) = received else { return Ok(BodyPart::Nothing) };
            if received.bytes == 0 {
                return Err(UploadFailure::Gone);
            }
            self.shared.tally.add(Cell::ReceivedBytes, received.bytes as u64);
            *more = received.more;
            if is_direct {
                return Ok(BodyPart::Some);
            }
            received.bytes
        };
        let used = upload.feed(&desk.buffer[..filled], &self.shared.config, parts_left)?;
        if used < filled {
            connection.keep(&desk.buffer[used..filled], true);
        }
        Ok(BodyPart::Some)
    }

    /// Handles a connection whose deadline has come.
    pub(crate) fn expire(&mut self, key: usize, connection: Box<Connection>, desk: &mut Desk) -> Worked {
        if matches!(connection.phase, Phase::Respond(_)) {
            return self.look_at_reader(key, connection, desk);
        }
        if let Phase::Depart(departing) = connection.phase {
            let step = self.expire_departing(key, connection, desk, departing);
            return self.work_on(key, step, desk);
        }
        let connection = match self.look_for_memory(key, connection, desk) {
            Ok(worked) => return worked,
            Err(connection) => connection,
        };
        let start = start_of_request(&connection);
        if start.is_empty() {
            return Worked::Ended(self.close(*connection));
        }
        let step = self.refuse(key, connection, desk, TOO_SLOW, &start);
        self.work_on(key, step, desk)
    }
}

/// Returns the beginning of a request whose rest a connection waits for; empty if nothing of it has come.
pub(crate) fn start_of_request(connection: &Connection) -> Vec<u8> {
    match &connection.phase {
        Phase::Head | Phase::Depart(_) => start_of(&connection.carry),
        Phase::Upload(upload) => start_of(&upload.head),
        Phase::Respond(_) | Phase::Linger(_) => Vec::new(),
    }
}

/// Has the rest of an answer wait for an event, or for the next turn.
fn wait_for_reader(connection: Box<Connection>, flushed: Flushed) -> Step {
    Step::On(connection, if flushed == Flushed::Turn { Next::Again } else { Next::Wait })
}

/// Reads and drops bytes until the client has closed.
///
/// Past the limit nothing more is read, which makes the client stop sending, and the deadline ends the connection:
/// closing it at once would reset it before the client has looked for its answer.
fn linger(mut connection: Box<Connection>, desk: &mut Desk) -> Step {
    loop {
        let Phase::Linger(linger) = &connection.phase else { return Step::On(connection, Next::Close) };
        if linger.bytes_left == 0 {
            return Step::On(connection, Next::Wait);
        }
        let received = connection.transport().receive(&mut desk.buffer);
        let Phase::Linger(linger) = &mut connection.phase else { return Step::On(connection, Next::Close) };
        match received {
            Ok(Some(bytes)) if bytes > 0 => {
                linger.bytes_left = linger.bytes_left.saturating_sub(bytes as u64);
            }
            Ok(None) => return Step::On(connection, Next::Wait),
            _ => return Step::On(connection, Next::Close),
        }
    }
}

/// Logs why a connection ended while bytes were still to be sent.
fn note_end(error: &std::io::Error) {
    if error.kind() == std::io::ErrorKind::UnexpectedEof {
        log::write(
            &messages::FILE_SHORTENED,
            format_args!("a file became shorter while it was sent; the answer was cut"),
        );
    } else {
        log::write(
            &messages::CLIENT_GONE,
            format_args!("a client went away before its answer was sent: {error}"),
        );
    }
}

/// Whether a head that has begun may be whole now. Parsing it again at every byte would take quadratic time.
pub(crate) fn worth_parsing(carried: usize, bytes: &[u8], limits: &adyton_http1::Limits) -> bool {
    carried == 0
        || Head::worth_parsing(&bytes[carried..], bytes.len(), limits)
        || Head::passes_line_limit(bytes, limits)
}
