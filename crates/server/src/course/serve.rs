//! The path of a request, from the bytes that a connection receives to what the connection does next.
//!
//! A connection goes from phase to phase until it waits, ends, or goes away to the application:
//!
//! | phase | step | what is next |
//! | --- | --- | --- |
//! | `Head` | [`receive_head`]: receives, parses, and answers each whole request | as the answer says |
//! | `Upload` | [`receive_body`]: receives a body | `Answer`, once it is whole |
//! | `Respond` | [`respond`]: sends the rest of an answer | `Head`, or the end |
//! | `Depart` | [`depart`]: moves the connection to another process | the end |
//! | `Linger` | [`linger`]: reads and drops bytes | the end |
//!
//! A request that is whole takes these steps, each of which may be its last:
//!
//! | step | file |
//! | --- | --- |
//! | its site and its route are found, and the route answers if it can do so at once | `routing` |
//! | its credentials are verified, and then it is routed again | `checking` |
//! | it gets another target, and is routed again | `sending_on` |
//! | it waits for the answer to another request | `caching` |
//! | a script is started for it | `scripting` |
//! | another process answers it | `passing` |
//! | the application is asked, by this thread or by another | `dispatch` |
//! | its answer is counted, logged and sent | `concluding` |
//!
//! The steps import nothing of this file. Connections whose requests come back from elsewhere are put on this path again
//! by `resuming`.

use std::ops::Range;

use adyton_http::Request;
use adyton_http1::{Framing, Head, Parsed};

use crate::answering::answer::After;
use crate::answering::errand::Errand;
use crate::answering::exchange::{Exchange, Owned, RequestBytes};
use crate::answering::refusals::{NO_ROOM, UNDERSCORE, start_of};
use crate::answering::reply::PENDING_BYTES_MAX;
use crate::answering::step::{Answering, Next, Step, Worked};
use crate::board::tally::Cell;
use crate::client::connection::Phase;
use crate::course::arriving::{Header, receive_header};
use crate::course::bodies::{Begun, begin_body, enter_with_body, receive_body};
use crate::course::caching::await_kept;
use crate::course::checking::begin_check;
use crate::course::concluding::{conclude, refuse, settle};
use crate::course::dispatch::ask_application;
use crate::course::passing::{depart, pass_on, pass_on_owned};
use crate::course::routing::answer_request;
use crate::course::scripting::begin_script;
use crate::course::sending::{close, linger, respond};
use crate::course::sending_on::rewrite;
use crate::course::turn::{Turn, guarded};
use crate::event_loop::Loop;
use crate::threads::desk::Desk;

/// Has a connection that was away take this step, and then works on it.
pub(crate) fn resume(
    driven: &mut Loop,
    key: usize,
    desk: &mut Desk,
    first: impl FnOnce(Turn<'_>) -> Step,
) -> Option<Errand> {
    guarded(driven, key, desk, |driven, desk| {
        let connection = driven.connections.take_away(key);
        work_from(Turn::new(driven, desk, key, connection), first)
    })
}

/// Works on a connection until it waits, ends, or goes away to the application.
pub(crate) fn work(turn: Turn<'_>) -> Worked {
    work_from(turn, |turn| Step::On(turn.connection, Next::Continue))
}

/// Works on a connection like [`work`], after a first step.
#[inline]
pub(crate) fn work_from(turn: Turn<'_>, first: impl FnOnce(Turn<'_>) -> Step) -> Worked {
    let Turn { driven, desk, key, connection } = turn;
    let step = first(Turn::new(driven, desk, key, connection));
    go_through_phases(driven, desk, key, step)
}

/// Has a connection go from phase to phase, after its first step.
fn go_through_phases(driven: &mut Loop, desk: &mut Desk, key: usize, first: Step) -> Worked {
    let (mut step, mut is_first) = (first, true);
    loop {
        let (connection, next) = match step {
            Step::On(connection, next) => (connection, next),
            Step::Away(errand) => return Worked::Away(errand),
        };
        match next {
            Next::Continue if is_first => {}
            // Bytes that are received now may have come later than the event, so files are looked at anew for them.
            Next::Continue => driven.looks += 1,
            // The kernel has announced the peer's end together with its last bytes, and will not announce it again.
            Next::Wait if driven.connections.take_ending(key) => {}
            Next::Wait => return Worked::Kept(connection),
            Next::Again => {
                driven.queue(key);
                return Worked::Kept(connection);
            }
            Next::Answer => {
                step = answer_upload(Turn::new(driven, desk, key, connection));
                continue;
            }
            Next::Close => return Worked::Ended(close(driven, *connection)),
        }
        is_first = false;
        step = match connection.phase {
            Phase::Head => receive_head(Turn::new(driven, desk, key, connection)),
            Phase::Upload(_) => receive_body(Turn::new(driven, desk, key, connection)),
            Phase::Respond(_) => respond(Turn::new(driven, desk, key, connection)),
            Phase::Depart(departing) => depart(Turn::new(driven, desk, key, connection), departing),
            Phase::Linger(_) => linger(Turn::new(driven, desk, key, connection)),
        };
    }
}

/// Receives bytes, and answers every request that is whole.
fn receive_head(mut turn: Turn<'_>) -> Step {
    let carried = turn.connection.carry.len();
    turn.desk.buffer[..carried].copy_from_slice(&turn.connection.carry);
    let mut filled = carried;
    if !std::mem::take(&mut turn.connection.unparsed) {
        turn.connection.more = false;
        match turn.connection.transport().receive(&mut turn.desk.buffer[carried..]) {
            Ok(None) => return Step::On(turn.connection, Next::Wait),
            Ok(Some(bytes)) if bytes > 0 => filled += bytes,
            _ => return Step::On(turn.connection, Next::Close),
        }
        turn.connection.more = filled == turn.desk.buffer.len();
        turn.driven.shared.tally.add(Cell::ReceivedBytes, (filled - carried) as u64);
        if carried == 0 {
            turn.connection.since_ms = turn.driven.now_ms;
        }
        if turn.connection.begins_with_header {
            return match receive_header(turn, filled) {
                Header::Read(turn, begin) => answer_buffered(turn, begin..filled),
                Header::Not(step) => step,
            };
        }
        if carried == 0 {
            // The bytes begin a request.
        } else if !worth_parsing(carried, &turn.desk.buffer[..filled], &turn.driven.shared.config.head) {
            turn.connection.carry.extend_from_slice(&turn.desk.buffer[carried..filled]);
            return Step::On(turn.connection, Next::Wait);
        }
    }
    turn.connection.carry = Vec::new();
    turn.connection.outbox_mut().output.lend(&mut turn.desk.spare);
    answer_buffered(turn, 0..filled)
}

/// Whether a head that has begun may be whole now. Parsing it again at every byte would take quadratic time.
fn worth_parsing(carried: usize, bytes: &[u8], limits: &adyton_http1::Limits) -> bool {
    carried == 0
        || Head::worth_parsing(&bytes[carried..], bytes.len(), limits)
        || Head::passes_line_limit(bytes, limits)
}

/// Answers the requests in a part of the buffer; their answers are sent together.
pub(crate) fn answer_buffered(
    mut turn: Turn<'_>,
    Range { start: mut at, end: filled }: Range<usize>,
) -> Step {
    while at < filled {
        let pauses = turn.connection.outbox().output.pending_bytes() > PENDING_BYTES_MAX
            || turn.driven.is_turn_over(&turn.connection);
        if at > 0 && pauses {
            turn.connection.keep(&turn.desk.buffer[at..filled], true);
            break;
        }
        let Desk { buffer, head, .. } = turn.desk;
        match head.parse(&buffer[at..filled], &turn.driven.shared.config.head) {
            Ok(Parsed::Complete) => {}
            Ok(Parsed::Partial) => {
                turn.connection.keep(&buffer[at..filled], false);
                break;
            }
            Err(refusal) => {
                let start = start_of(&buffer[at..filled]);
                return refuse(turn, refusal, &start);
            }
        }
        if turn.driven.shared.config.refuse_underscores && has_underscore(head.of(&buffer[at..filled])) {
            let start = start_of(&buffer[at..filled]);
            return refuse(turn, UNDERSCORE, &start);
        }
        let body_at = at + head.bytes();
        let Some(end) = body_end(head.framing(), body_at, filled) else {
            return match begin_body(turn, at..filled) {
                Begun::Step(step) => step,
                Begun::Live(turn, owned) => answer_owned(turn, owned),
            };
        };
        if end > body_at {
            let (request, body_bytes) = (head.of(&buffer[at..body_at]), (end - body_at) as u64);
            if let Err(refusal) = enter_with_body(turn.driven, &mut turn.connection, request, body_bytes) {
                let start = start_of(&buffer[at..filled]);
                return refuse(turn, refusal, &start);
            }
        }
        let Desk { buffer, head, exchange, endpoint, .. } = &mut *turn.desk;
        let exchange = exchange.get_or_insert_with(Exchange::empty);
        let bytes = &buffer[at..body_at];
        match answer_request(turn.driven, &mut turn.connection, exchange, head.of(bytes), head.asked(), false)
        {
            Answering::Done(After::Next) => at = end,
            Answering::Done(after) => {
                turn.connection.keep(&turn.desk.buffer[end..filled], true);
                return conclude(turn, after);
            }
            Answering::Ask => {
                exchange.endpoint = endpoint.of(head.reads(), head.of(bytes));
                exchange.request = RequestBytes::Lent { start: at, body_at, end, filled };
                return ask_application(turn);
            }
            Answering::Pass(elsewhere) => {
                return pass_on(turn, elsewhere, at..filled);
            }
            later => {
                exchange.request = RequestBytes::Lent { start: at, body_at, end, filled };
                return answer_later(turn, later);
            }
        }
    }
    settle(turn, After::Next)
}

/// Whether a field name has an underscore: `X_Forwarded_For` would look like `X-Forwarded-For` to an application.
fn has_underscore(request: Request<'_>) -> bool {
    request.fields().iter().any(|field| memchr::memchr(b'_', request.name(field)).is_some())
}

/// Returns the end of a body that is already here; `None` if more of the body has to come, or it has to be decoded.
fn body_end(framing: Framing, body_at: usize, filled: usize) -> Option<usize> {
    match framing {
        Framing::None => Some(body_at),
        Framing::Length(bytes) => usize::try_from(bytes)
            .ok()
            .filter(|&bytes| bytes <= filled - body_at)
            .map(|bytes| body_at + bytes),
        Framing::Chunked => None,
    }
}

/// Answers a request that is not in the desk's buffer; its head is parsed.
pub(crate) fn answer_owned(mut turn: Turn<'_>, owned: Owned) -> Step {
    let live = owned.body.live();
    let Desk { head, exchange, endpoint, .. } = &mut *turn.desk;
    let exchange = exchange.get_or_insert_with(Exchange::empty);
    let bytes = &*owned.head;
    match answer_request(
        turn.driven,
        &mut turn.connection,
        exchange,
        head.of(bytes),
        head.asked(),
        live.is_some(),
    ) {
        Answering::Done(after) => conclude(turn, after),
        Answering::Ask => {
            exchange.endpoint = endpoint.of(head.reads(), head.of(bytes));
            exchange.answer.live = live;
            exchange.request = RequestBytes::Owned(Box::new(owned));
            ask_application(turn)
        }
        Answering::Pass(elsewhere) => pass_on_owned(turn, elsewhere, &owned),
        later => {
            // No script reads a live body. The answer keeps the live body, so that its rest is read after the answer.
            if matches!(later, Answering::Rewritten(_) | Answering::Script(_)) {
                exchange.answer.live = live;
            }
            exchange.request = RequestBytes::Owned(Box::new(owned));
            answer_later(turn, later)
        }
    }
}

/// Begins the step that has to be taken before the request of the desk's exchange is answered.
fn answer_later(turn: Turn<'_>, later: Answering) -> Step {
    match later {
        Answering::Check(credentials) => begin_check(turn, credentials),
        Answering::Script(wanted) => begin_script(turn, wanted),
        Answering::Await(wanting) => await_kept(turn, wanting),
        Answering::Rewritten(rewritten) => rewrite(turn, rewritten),
        Answering::Done(_) | Answering::Ask | Answering::Pass(_) => {
            unreachable!("it is answered now, or by another")
        }
    }
}

/// Answers a request whose body has come in.
fn answer_upload(mut turn: Turn<'_>) -> Step {
    let Phase::Upload(mut upload) = std::mem::replace(&mut turn.connection.phase, Phase::Head) else {
        unreachable!("only called in this phase")
    };
    turn.connection.outbox_mut().output.lend(&mut turn.desk.spare);
    let bytes = std::mem::take(&mut upload.head);
    let parsed = turn.desk.head.parse(&bytes, &turn.driven.shared.config.head);
    let (Ok(Parsed::Complete), Ok(body)) = (parsed, upload.body()) else {
        let start = start_of(&bytes);
        return refuse(turn, NO_ROOM, &start);
    };
    turn.desk.exchange.get_or_insert_with(Exchange::empty).verdict = upload.verdict.take();
    answer_owned(turn, Owned { head: bytes, body })
}
