//! Answers of scripts: the heads are read, and the bodies sent as they come and as the client takes them.

use adyton_cgi::{Answer as Said, BadHead, HEAD_BYTES_MAX, Head, answer, find_end, status_of};
use adyton_http::{BadResponse, BodySize, Request, reason_phrase};
use adyton_log::{self as log, messages};

use crate::answering::errand::{Errand, LOOK_FOR_CLIENT_MS};
use crate::answering::exchange::{Exchange, RequestBytes, parse_again};
use crate::answering::reply::Reply;
use crate::answering::step::{Next, Step};
use crate::cgi::{ScriptOutput, ScriptStage};
use crate::client::connection::{Connection, Phase, Respond};
use crate::client::output::Flushed;
use crate::event_loop::{Loop, Waiting};
use crate::threads::desk::Desk;

/// Reads of one script's output before the other connections get their turn.
const READS_PER_TURN: usize = 16;

/// Bytes of output that are read at once.
const READ_BYTES: usize = 64 << 10;

/// Text of the error page for clients of a script that has failed.
pub(crate) const SCRIPT_FAILED: &str = "The script has failed.";

/// The part of an answer that follows the written one.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Rest {
    /// Nothing: it is whole, or cut.
    Nothing,
    /// More of the script's output.
    Output,
}

/// The result of reading the beginning of a script's output.
enum Begun {
    /// The head is not whole.
    NotYet,
    /// The answer has begun, perhaps with an errand for the driver.
    Answer(Option<Errand>),
}

impl Loop {
    /// Reads the head of a script's answer, as far as it has come, and begins the answer when it is whole.
    pub(crate) fn read_script_head(&mut self, number: usize, key: usize, desk: &mut Desk) -> Option<Errand> {
        let now_ms = self.now_ms;
        let script = self.scripts.get_mut(number)?;
        let most = desk.buffer.len().min(READ_BYTES);
        let ScriptStage::Head(mut bytes, seen) = std::mem::replace(&mut script.stage, ScriptStage::Over)
        else {
            return None;
        };
        let end = loop {
            match script.read(&mut desk.buffer[..most], now_ms) {
                ScriptOutput::Bytes(read) => bytes.extend_from_slice(&desk.buffer[..read]),
                ScriptOutput::Nothing => break None,
                ScriptOutput::End { is_whole } => break Some(is_whole),
            }
            if bytes.len() > HEAD_BYTES_MAX {
                break None;
            }
        };
        if end.is_none() && script.has_ended_output() {
            // How the script ends tells whether that was all of its output.
            script.stage = ScriptStage::Head(bytes, seen);
            return None;
        }
        let found = if script.is_unparsed {
            self.begin_unparsed(key, &bytes, end, desk)
        } else {
            self.begin_parsed(key, (&bytes, seen), end, desk)
        };
        match found {
            Ok(Begun::Answer(errand)) => errand,
            Ok(Begun::NotYet) if end.is_some() => self.refuse_head(number, key, &BadHead::Ended, desk),
            Ok(Begun::NotYet) => {
                let seen = bytes.len();
                self.scripts.get_mut(number)?.stage = ScriptStage::Head(bytes, seen);
                None
            }
            Err(wrong) => self.refuse_head(number, key, &wrong, desk),
        }
    }

    /// Begins an answer with a head that the server parses, as soon as it is whole. `end`: whether the output has ended
    /// well, if it has ended.
    fn begin_parsed(
        &mut self,
        key: usize,
        (bytes, seen): (&[u8], usize),
        end: Option<bool>,
        desk: &mut Desk,
    ) -> Result<Begun, BadHead> {
        let Some((lines, body_at)) = find_end(bytes, seen) else {
            return if bytes.len() > HEAD_BYTES_MAX { Err(BadHead::TooLong) } else { Ok(Begun::NotYet) };
        };
        if lines > HEAD_BYTES_MAX {
            return Err(BadHead::TooLong);
        }
        let head = Head::parse(&bytes[..lines])?;
        let (status, reason) = match answer(&head)? {
            Said::LocalRedirect(target) => {
                // Nothing of the script's output stays (RFC 3875 section 6.2.2).
                return Ok(Begun::Answer(self.answer_waiting(key, desk, |reply, _| {
                    reply.send_on(target);
                    Rest::Nothing
                })));
            }
            Said::Document { status, reason: b"" } => (status, reason_phrase(status).as_bytes()),
            Said::Document { status, reason } => (status, reason),
        };
        let rest = &bytes[body_at..];
        let size = if end.is_some() { BodySize::Known(rest.len() as u64) } else { BodySize::Unknown };
        self.note_body_begins(key, end, desk);
        Ok(Begun::Answer(self.answer_waiting(key, desk, |reply, _| {
            if end == Some(false) {
                reply.fail(500, SCRIPT_FAILED);
                return Rest::Nothing;
            }
            let written: Result<(), BadResponse> = reply.head(status, reason, size, |out| {
                head.fields_for(status).try_for_each(|(name, value)| out.field(name, value))
            });
            if let Err(error) = written {
                let text = format_args!("a script's head cannot be sent: {error}");
                log::write_about(Some(reply.request_id()), &messages::SCRIPT_FAILED, text);
                reply.fail(500, SCRIPT_FAILED);
                return Rest::Nothing;
            }
            reply.write(rest);
            if end.is_some() { Rest::Nothing } else { Rest::Output }
        })))
    }

    /// Begins an answer that goes to the client as it is, as soon as its first line is whole.
    fn begin_unparsed(
        &mut self,
        key: usize,
        bytes: &[u8],
        end: Option<bool>,
        desk: &mut Desk,
    ) -> Result<Begun, BadHead> {
        let Some(status) = status_of(bytes)? else { return Ok(Begun::NotYet) };
        self.note_body_begins(key, end, desk);
        Ok(Begun::Answer(self.answer_waiting(key, desk, |reply, _| {
            reply.begin_raw(status);
            reply.write(bytes);
            match end {
                None => Rest::Output,
                Some(true) => Rest::Nothing,
                Some(false) => {
                    reply.abort();
                    Rest::Nothing
                }
            }
        })))
    }

    /// Notes that the head of a script's answer is whole, and perhaps the whole output.
    fn note_body_begins(&mut self, key: usize, end: Option<bool>, desk: &mut Desk) {
        if end.is_some() {
            self.release_script(key, desk);
        } else if let Some(script) =
            self.scripts.of_client(key).and_then(|number| self.scripts.get_mut(number))
        {
            script.stage = ScriptStage::Body;
        }
    }

    /// Ends a script that has printed no valid head, and answers its client with an error.
    fn refuse_head(&mut self, number: usize, key: usize, wrong: &BadHead, desk: &mut Desk) -> Option<Errand> {
        let script = self.scripts.get_mut(number)?;
        log::write_about(
            Some(&script.id),
            &messages::SCRIPT_FAILED,
            format_args!("{}: {wrong}", script.name),
        );
        script.end();
        self.release_script(key, desk);
        self.answer_waiting(key, desk, |reply, _| {
            reply.fail(500, SCRIPT_FAILED);
            Rest::Nothing
        })
    }

    /// Answers a request that waits with the loop: `write` writes the head, and the beginning of the body.
    pub(crate) fn answer_waiting(
        &mut self,
        key: usize,
        desk: &mut Desk,
        write: impl FnOnce(&mut Reply<'_>, Request<'_>) -> Rest,
    ) -> Option<Errand> {
        let Waiting { mut exchange, .. } = self.tickets.waiting.remove(&key)?;
        self.connections.away -= 1;
        self.guarded(key, desk, |this, desk| {
            let mut connection = this.connections.take_away(key);
            let RequestBytes::Owned(owned) = exchange.take_request() else {
                unreachable!("what waits with the loop has left the desk")
            };
            parse_again(&mut desk.head, &owned.head, &this.shared.config.head);
            let Exchange { answer, started_us, .. } = &mut *exchange;
            answer.outbox().output.lend(&mut desk.spare);
            let mut reply = Reply::of_script(answer, &this.shared.common, &this.date);
            let then = write(&mut reply, desk.head.of(&owned.head));
            let step = if reply.goes_on() {
                exchange.request = RequestBytes::Owned(owned);
                this.release_script(key, desk);
                this.send_on(connection, exchange, desk)
            } else if then == Rest::Nothing {
                reply.end();
                let asked_for = desk.head.of(&owned.head);
                let after = this.conclude_answer(&mut connection, answer, *started_us, asked_for);
                desk.keep_exchange(exchange);
                this.conclude(key, connection, desk, after)
            } else {
                this.begin_output(key, connection, (exchange, owned.head), desk)
            };
            this.work_on(key, step, desk)
        })
    }

    /// Goes on after the head of a script's answer is written: the rest is read from the script as the client takes it.
    fn begin_output(
        &mut self,
        key: usize,
        mut connection: Box<Connection>,
        (mut exchange, head): (Box<Exchange>, Vec<u8>),
        desk: &Desk,
    ) -> Step {
        let answer = &mut exchange.answer;
        answer.row = self.shared.tally.row_of(desk.head.path.of(&head), answer.status);
        connection.outbox = answer.outbox.take();
        let mut respond = Respond::new(answer.after());
        if connection.outbox().terms.log.is_some() {
            exchange.head = head;
        }
        (respond.exchange, respond.is_script) = (Some(exchange), true);
        connection.phase = Phase::Respond(Box::new(respond));
        self.watch_reader(key, &mut connection);
        Step::On(connection, Next::Continue)
    }

    /// Goes on with an answer of a script, after everything that was read of it is sent.
    pub(crate) fn respond_from_script(
        &mut self,
        key: usize,
        mut connection: Box<Connection>,
        mut respond: Box<Respond>,
        desk: &mut Desk,
    ) -> Step {
        if self.connections.has_ended(key) {
            respond.ended_ms.get_or_insert(self.now_ms);
        }
        let now_ms = self.now_ms;
        let most = desk.buffer.len().min(READ_BYTES);
        for _ in 0..READS_PER_TURN {
            let script = self.scripts.of_client(key).and_then(|number| self.scripts.get_mut(number));
            let read = script.map_or(ScriptOutput::End { is_whole: false }, |script| {
                script.read(&mut desk.buffer[..most], now_ms)
            });
            let Some(exchange) = &mut respond.exchange else { return Step::On(connection, Next::Close) };
            let answer = &mut exchange.answer;
            if read == ScriptOutput::Nothing && !answer.has_unflushed() {
                return self.await_script(key, connection, respond);
            }
            connection.outbox_mut().output.lend(&mut desk.spare);
            answer.outbox = connection.outbox.take();
            let mut reply = Reply::new(answer, &self.shared.common, &self.date);
            match read {
                ScriptOutput::Bytes(bytes) => reply.write(&desk.buffer[..bytes]),
                ScriptOutput::End { is_whole: true } => reply.end(),
                ScriptOutput::End { is_whole: false } => reply.abort(),
                ScriptOutput::Nothing => reply.flush_coder(),
            }
            let is_coded = reply.is_coded();
            connection.outbox = answer.outbox.take();
            if matches!(read, ScriptOutput::End { .. }) {
                self.release_script(key, desk);
                respond.is_script = false;
                connection.phase = Phase::Respond(respond);
                return Step::On(connection, Next::Continue);
            }
            match connection.flush() {
                // Compressing takes time, so other connections have their turn now.
                Ok(Flushed::All) if is_coded && read != ScriptOutput::Nothing => break,
                Ok(Flushed::All) => {}
                Ok(flushed) => {
                    connection.phase = Phase::Respond(respond);
                    self.watch_reader(key, &mut connection);
                    let next = if flushed == Flushed::Turn { Next::Again } else { Next::Wait };
                    return Step::On(connection, next);
                }
                Err(_) => {
                    connection.phase = Phase::Respond(respond);
                    return Step::On(connection, Next::Close);
                }
            }
        }
        connection.phase = Phase::Respond(respond);
        Step::On(connection, Next::Again)
    }

    /// Has a connection wait for its script, which has nothing for it now. A client that has ended its side is taken
    /// for gone after a moment, as before an answer begins.
    fn await_script(&mut self, key: usize, mut connection: Box<Connection>, respond: Box<Respond>) -> Step {
        let since_ms = respond.ended_ms;
        connection.phase = Phase::Respond(respond);
        let Some(since_ms) = since_ms else {
            self.timers.clear(key);
            return Step::On(connection, Next::Wait);
        };
        let is_far = self.now_ms >= since_ms + LOOK_FOR_CLIENT_MS;
        if connection.outbox().is_abandoned(is_far) {
            return Step::On(connection, Next::Close);
        }
        if is_far {
            self.timers.clear(key);
        } else {
            self.timers.set(key, since_ms + LOOK_FOR_CLIENT_MS);
        }
        Step::On(connection, Next::Wait)
    }
}
