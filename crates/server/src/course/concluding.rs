//! The end of a request: its answer is counted, logged and sent, or it is refused.

use adyton_http::{Request, Version};
use adyton_http1::{Asked, Head, Parsed, Refusal};
use adyton_log::request::RequestId;
use adyton_log::{self as log, messages};

use crate::access_log::Record;
use crate::answering::answer::{After, Answer};
use crate::answering::exchange::Exchange;
use crate::answering::refusals::start_of;
use crate::answering::reply::{PENDING_BYTES_MAX, Reply};
use crate::answering::step::{Next, Step};
use crate::board::tally::Answered;
use crate::client::connection::{Connection, Linger, Phase, Respond, after_live};
use crate::client::held::Held;
use crate::client::outbox::Outbox;
use crate::client::output::Flushed;
use crate::client::reader::Reader;
use crate::common::Common;
use crate::course::turn::Turn;
use crate::event_loop::Loop;
use crate::lock::lock;

/// Begins the answer to the request with this id.
pub(crate) fn begin_answer(driven: &Loop, answer: &mut Answer, asked: Asked, id: RequestId) {
    write_name(answer, &driven.shared.common, &id);
    answer.begin(asked, id);
}

/// Adds the field with the request's id to an answer, if the server has such a field.
#[expect(clippy::inline_always, reason = "a call would cost more than the work, at each request")]
#[inline(always)]
pub(crate) fn write_name(answer: &mut Answer, common: &Common, id: &RequestId) {
    if !common.config.request_id_field.is_empty() {
        write_name_in(answer, &common.config.request_id_field, id);
    }
}

#[inline(never)]
fn write_name_in(answer: &mut Answer, field: &[u8], id: &RequestId) {
    let mut line = field.to_vec();
    line.extend_from_slice(format!(": {id}\r\n").as_bytes());
    answer.lines = line.into();
}

/// Logs an answer, and gives the connection its outbox back. Returns the connection's next step.
pub(crate) fn conclude_answer(
    driven: &mut Loop,
    connection: &mut Connection,
    answer: &mut Answer,
    started_us: u64,
    request: Request<'_>,
) -> After {
    connection.outbox = answer.outbox.take();
    answer.row = driven.shared.tally.row_of(request.path(), answer.status);
    log_answer(driven, connection.outbox(), Some(request), b"", answer, started_us);
    if answer.is_cut() {
        return answer.after_cut();
    }
    match answer.live.take() {
        Some(live) if after_live(connection, &live) == After::Linger => After::Linger,
        _ => answer.after(),
    }
}

/// Counts an answer, and logs it. The path of a request reads the clock here, and nowhere else.
fn log_answer(
    driven: &mut Loop,
    outbox: &Outbox,
    request: Option<Request<'_>>,
    refused: &[u8],
    answer: &Answer,
    started_us: u64,
) {
    let duration_us = driven.turns.read_clock().saturating_sub(started_us);
    let (status, body_bytes) = (answer.status, answer.body_bytes);
    let (row, row_of_site) = (answer.row, outbox.terms.row());
    driven.shared.tally.note_answer(&Answered { status, body_bytes, row, row_of_site, duration_us });
    if let Some(log) = &outbox.terms.log {
        let (peer, id) = (answer.client(outbox.peer), &answer.id);
        let mut first = Head::new();
        // The log shows the request as the client has sent it.
        let sent = answer.onward.as_ref();
        let sent = sent.and_then(|onward| onward.first(&mut first, &driven.shared.config.head));
        let request = sent.or(request);
        let user = answer.asker.as_ref().and_then(|asker| asker.user.as_ref());
        let user = user.map(|user| &*user.name);
        let site = outbox.terms.name.as_deref();
        let record = Record { peer, request, refused, site, user, status, body_bytes, duration_us, id };
        lock(log).record(&record);
    }
}

/// Counts and logs a streamed answer, whole or not: the bytes that the client got count.
pub(crate) fn log_streamed(driven: &mut Loop, connection: &Connection, respond: &Respond) {
    let Some(exchange) = &respond.exchange else { return };
    let Exchange { head: bytes, answer, started_us, .. } = &**exchange;
    let mut head = Head::new();
    let parsed = matches!(head.parse(bytes, &driven.shared.config.head), Ok(Parsed::Complete));
    log_answer(driven, connection.outbox(), parsed.then(|| head.of(bytes)), bytes, answer, *started_us);
}

/// Goes on after an answer is written.
pub(crate) fn conclude(turn: Turn<'_>, after: After) -> Step {
    // Closing a connection with bytes that were not read resets it.
    let is_over_unread = after == After::Close && (turn.connection.unparsed || turn.connection.more);
    settle(turn, if is_over_unread { After::Linger } else { after })
}

/// Sends the answers written so far, and decides on the connection's next step.
pub(crate) fn settle(mut turn: Turn<'_>, after: After) -> Step {
    let outbox = turn.connection.outbox_mut();
    let ends = matches!(after, After::Close | After::Linger);
    let flushed = if ends { outbox.flush_and_end() } else { outbox.flush() };
    match flushed {
        Ok(Flushed::All) => {
            outbox.output.give_back(&mut turn.desk.spare);
            after_answer(turn, after)
        }
        Ok(flushed) => {
            turn.connection.phase = Phase::Respond(Box::new(Respond::new(after)));
            watch_reader(turn.driven, turn.key, &mut turn.connection);
            wait_for_reader(turn.connection, flushed)
        }
        Err(error) => {
            note_end(&error);
            Step::On(turn.connection, Next::Close)
        }
    }
}

/// Goes on after everything is sent: with the next request, by lingering, or by closing the connection.
pub(crate) fn after_answer(mut turn: Turn<'_>, after: After) -> Step {
    match after {
        After::Close => Step::On(turn.connection, Next::Close),
        After::Reset => {
            turn.connection.transport().reset_on_close();
            Step::On(turn.connection, Next::Close)
        }
        After::Linger => {
            turn.connection.transport().end();
            let deadline_ms = turn.driven.now_ms + turn.driven.shared.config.linger_timeout_ms;
            turn.driven.timers.set(turn.key, deadline_ms);
            turn.connection.carry = Vec::new();
            turn.connection.phase =
                Phase::Linger(Box::new(Linger { bytes_left: turn.driven.shared.config.drain_bytes_max }));
            Step::On(turn.connection, Next::Continue)
        }
        After::Next => {
            turn.connection.phase = Phase::Head;
            let deadline_ms = if turn.connection.carry.is_empty() {
                turn.driven.now_ms + turn.connection.outbox().terms.limits.keep_alive_timeout_ms
            } else {
                // Perhaps no request was answered since the head began, so the head's time goes on.
                turn.connection.since_ms + turn.driven.shared.config.head_timeout_ms
            };
            turn.driven.timers.set(turn.key, deadline_ms);
            // Bytes in the buffer come first, and the socket is looked at after them.
            let goes_on = turn.connection.unparsed || turn.connection.more;
            let next = match goes_on {
                true if !turn.driven.is_turn_over(&turn.connection) => Next::Continue,
                true => Next::Again,
                false => Next::Wait,
            };
            if next != Next::Continue {
                turn.connection.requests_before = turn.connection.requests;
            }
            Step::On(turn.connection, next)
        }
    }
}

/// Watches how fast the client reads the rest of its answer, and how many bytes all unread answers hold.
pub(crate) fn watch_reader(driven: &mut Loop, key: usize, connection: &mut Connection) {
    let reader = Reader::new(connection.outbox(), driven.now_ms);
    let held = if let Phase::Respond(respond) = &mut connection.phase {
        respond.reader = reader;
        respond.held.take()
    } else {
        None
    };
    let mut held = held.unwrap_or_else(|| Held::new(&driven.shared.output_bytes));
    if held.is_too_much(&connection.outbox().output, PENDING_BYTES_MAX, &driven.shared.config) {
        held.store(connection.outbox_mut(), &driven.shared.config);
    }
    if let Phase::Respond(respond) = &mut connection.phase {
        respond.held = Some(held);
    }
    driven.timers.set(key, driven.now_ms + Reader::look_again_ms(&connection.outbox().terms.limits));
}

/// Has the rest of an answer wait for an event, or for the next turn.
pub(crate) fn wait_for_reader(connection: Box<Connection>, flushed: Flushed) -> Step {
    Step::On(connection, if flushed == Flushed::Turn { Next::Again } else { Next::Wait })
}

/// Logs why a connection ended while bytes were still to be sent.
pub(crate) fn note_end(error: &std::io::Error) {
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

/// Refuses a request that cannot be served: sends the answer, and then closes so that the client can read it.
/// `start` is the beginning of the request, for the log and to recognise a HEAD.
pub(crate) fn refuse(turn: Turn<'_>, refusal: Refusal, start: &[u8]) -> Step {
    let id = turn.driven.ids.next(None, None);
    refuse_as(turn, id, refusal, start)
}

/// Refuses a request that has an id already, like [`refuse`].
pub(crate) fn refuse_as(mut turn: Turn<'_>, id: RequestId, refusal: Refusal, start: &[u8]) -> Step {
    let text = format_args!("refused with {}: {}", refusal.status, refusal.reason);
    log::write_about(Some(&id), &messages::REFUSED, text);
    let in_body = matches!(turn.connection.phase, Phase::Upload(_));
    turn.driven.shared.refusals.note(&turn.driven.shared.tally, refusal, in_body, turn.connection.peer());
    turn.connection.phase = Phase::Head;
    turn.connection.outbox_mut().output.lend(&mut turn.desk.spare);
    let asked = Asked { version: Version::Http11, is_head: start.starts_with(b"HEAD "), keep_alive: false };
    let answer = &mut turn.desk.exchange.get_or_insert_with(Exchange::empty).answer;
    answer.outbox = turn.connection.outbox.take();
    begin_answer(turn.driven, answer, asked, id);
    Reply::new(answer, &turn.driven.shared.common, &turn.driven.date).fail(refusal.status, refusal.reason);
    turn.connection.outbox = answer.outbox.take();
    let started_us = turn.driven.start_us();
    log_answer(turn.driven, turn.connection.outbox(), None, start, answer, started_us);
    settle(turn, After::Linger)
}

/// Returns the received beginning of the request for which a connection waits; empty if nothing of the request has
/// come.
pub(crate) fn start_of_request(connection: &Connection) -> Vec<u8> {
    match &connection.phase {
        Phase::Head | Phase::Depart(_) => start_of(&connection.carry),
        Phase::Upload(upload) => start_of(&upload.head),
        Phase::Respond(_) | Phase::Linger(_) => Vec::new(),
    }
}
