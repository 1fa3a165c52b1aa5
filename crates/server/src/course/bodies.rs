//! Bodies of requests: whether they are read, and their way into memory, into files, or to the application.

use std::ops::Range;
use std::sync::{Arc, Mutex};

use adyton_http::Request;
use adyton_http1::{Framing, Refusal};
use adyton_sys::pipe::Channel;

use crate::answering::answer::After;
use crate::answering::exchange::{Exchange, Owned};
use crate::answering::refusals::{NO_ROOM, QUEUE_FULL, TOO_LARGE, TOO_SLOW, start_of};
use crate::answering::step::{Answering, Next, Step};
use crate::board::tally::Cell;
use crate::client::asker::Asker;
use crate::client::body::{CONTINUE, Live, OwnedBody, Received, Upload, UploadFailure};
use crate::client::connection::{Connection, Phase};
use crate::course::admitting::{admits, await_memory};
use crate::course::concluding::{conclude, refuse, refuse_as, settle, start_of_request};
use crate::course::passing::pass_on;
use crate::course::routing::{answer_request, enter_site};
use crate::course::turn::Turn;
use crate::event_loop::Loop;
use crate::site::plan::Fate;
use crate::threads::desk::Desk;

/// Receives of one body before the other connections get their turn.
const RECEIVES_PER_TURN: u32 = 16;

/// Pieces of data of one body, each a chunk or more, that are decoded before the other connections get their turn: a
/// client that sends a byte in each chunk would keep the loop for milliseconds with every receive.
const PARTS_PER_TURN: u32 = 1024;

/// The way in which a request goes on while its body is not here yet.
pub(crate) enum Begun<'t> {
    /// By this step.
    Step(Step),
    /// Its body is read while the application answers it.
    Live(Turn<'t>, Owned),
}

/// Begins to read a body that is not here yet, or answers at once if the body would not be read.
pub(crate) fn begin_body(mut turn: Turn<'_>, request: Range<usize>) -> Begun<'_> {
    let Desk { buffer, head, .. } = &mut *turn.desk;
    let bytes = &buffer[request.clone()][..head.bytes()];
    let length = if let Framing::Length(length) = head.framing() { length } else { 0 };
    let site = match enter_with_body(turn.driven, &mut turn.connection, head.of(bytes), length) {
        Ok(site) => site,
        Err(refusal) => {
            let start = start_of(bytes);
            return Begun::Step(refuse(turn, refusal, &start));
        }
    };
    let terms = Arc::clone(&turn.connection.outbox().terms);
    let trust = turn.driven.shared.config.trust.as_ref();
    let asker = trust.and_then(|trust| Asker::told(trust, turn.connection.peer(), head.of(bytes)));
    let peer = asker.and_then(|asker| asker.client).or(turn.connection.peer());
    let client = peer.map(|peer| peer.ip());
    let fate = turn.driven.plan.site(site).fate(
        head.of(bytes),
        client,
        &turn.driven.folders,
        turn.driven.now_ms,
        turn.connection.has_missed(),
    );
    match fate {
        Fate::App | Fate::Script => {}
        Fate::Elsewhere(elsewhere) => return Begun::Step(pass_on(turn, elsewhere, request)),
        Fate::Here => match answer_before_body(turn, request.clone()) {
            Ok(step) => return Begun::Step(step),
            Err(back) => turn = back,
        },
    }
    let Desk { buffer, head, .. } = &mut *turn.desk;
    let (bytes, early) = buffer[request.clone()].split_at(head.bytes());
    let awaited = head.expects_continue() && early.is_empty();
    if fate == Fate::App
        && let Some(reading) = turn.driven.shared.begin_reading(&terms.limits)
    {
        if !turn.connection.outbox().output.is_empty() {
            // `100 Continue` must not overtake the answers to earlier requests, so they are sent first.
            turn.connection.keep(&buffer[request], true);
            return Begun::Step(settle(turn, After::Next));
        }
        let Ok(transport) = turn.connection.transport().share() else {
            let start = start_of(bytes);
            return Begun::Step(refuse(turn, NO_ROOM, &start));
        };
        let live = Live::new(transport, reading, head.framing(), &terms.limits, early, awaited);
        let body = OwnedBody::Live(Arc::new(Mutex::new(live)));
        let owned = Owned { head: bytes.to_vec(), body };
        return Begun::Live(turn, owned);
    }
    if awaited {
        return Begun::Step(ask_for_body(turn, request));
    }
    // A script reads its input from a file anyway.
    let memory = Some(&turn.driven.shared.config.body_memory).filter(|_| fate == Fate::App);
    let upload = Upload::new(bytes, head.framing(), &terms.limits, memory, turn.driven.now_ms);
    turn.connection.keep(early, true);
    Begun::Step(begin_upload(turn, upload))
}

/// Finds the site like [`enter_site`], for a request with a body of this length.
///
/// # Errors
///
/// The site takes no body of this length.
pub(crate) fn enter_with_body(
    driven: &mut Loop,
    connection: &mut Connection,
    request: Request<'_>,
    body_bytes: u64,
) -> Result<usize, Refusal> {
    let outbox = connection.outbox_mut();
    let site = enter_site(driven, outbox, request);
    if body_bytes > outbox.terms.limits.body_bytes_max { Err(TOO_LARGE) } else { Ok(site) }
}

/// Answers a request whose body no route of this process wants.
///
/// # Errors
///
/// A file of another path is to answer, by the rules of that path, and the body may be wanted there.
fn answer_before_body(mut turn: Turn<'_>, request: Range<usize>) -> Result<Step, Turn<'_>> {
    let Desk { buffer, head, exchange, .. } = &mut *turn.desk;
    let exchange = exchange.get_or_insert_with(Exchange::empty);
    let (bytes, early) = buffer[request.clone()].split_at(head.bytes());
    match answer_request(turn.driven, &mut turn.connection, exchange, head.of(bytes), head.asked(), true) {
        Answering::Done(after) => {
            turn.connection.keep(early, true);
            Ok(conclude(turn, after))
        }
        Answering::Pass(elsewhere) => Ok(pass_on(turn, elsewhere, request)),
        _ => {
            turn.connection.outbox = exchange.answer.outbox.take();
            // The request is counted when its body is here.
            turn.connection.requests -= 1;
            Err(turn)
        }
    }
}

/// Asks a client that waits for `100 Continue` for its body (RFC 9110 section 10.1.1), or answers at once if it is
/// known by now that the application will not get this request.
fn ask_for_body(mut turn: Turn<'_>, request: Range<usize>) -> Step {
    let Desk { buffer, head, exchange, .. } = &mut *turn.desk;
    let exchange = exchange.get_or_insert_with(Exchange::empty);
    let bytes = &buffer[request.clone()];
    let is_script =
        match answer_request(turn.driven, &mut turn.connection, exchange, head.of(bytes), head.asked(), true)
        {
            Answering::Done(after) => return conclude(turn, after),
            Answering::Pass(elsewhere) => return pass_on(turn, elsewhere, request),
            Answering::Script(_) => true,
            Answering::Ask | Answering::Check(_) | Answering::Rewritten(_) | Answering::Await(_) => false,
        };
    turn.connection.outbox = exchange.answer.outbox.take();
    let queue_max = turn.driven.shared.config.queue_max.max(1);
    if turn.driven.shared.crew.waiting() >= queue_max {
        turn.driven.shared.tally.count(Cell::TurnedAway);
        let start = start_of(bytes);
        let id = exchange.answer.id.clone();
        return refuse_as(turn, id, QUEUE_FULL, &start);
    }
    let verdict = exchange.verdict_of_user();
    // The request is counted when it is whole.
    turn.connection.requests -= 1;
    turn.connection.outbox_mut().output.tail().extend_from_slice(CONTINUE);
    let limits = &turn.connection.outbox().terms.limits;
    let memory = Some(&turn.driven.shared.config.body_memory).filter(|_| !is_script);
    let mut upload = Upload::new(bytes, head.framing(), limits, memory, turn.driven.now_ms);
    upload.verdict = verdict;
    begin_upload(turn, upload)
}

fn begin_upload(mut turn: Turn<'_>, upload: Upload) -> Step {
    turn.connection.phase = Phase::Upload(Box::new(upload));
    let deadline_ms = turn.driven.now_ms + turn.connection.outbox().terms.limits.body_idle_timeout_ms;
    turn.driven.timers.set(turn.key, deadline_ms);
    // Answers to earlier requests do not wait for the body of this request.
    if turn.connection.flush().is_err() {
        return Step::On(turn.connection, Next::Close);
    }
    let output = &mut turn.connection.outbox_mut().output;
    if output.is_empty() {
        output.give_back(&mut turn.desk.spare);
    }
    Step::On(turn.connection, Next::Continue)
}

/// Receives more of a request body.
pub(crate) fn receive_body(mut turn: Turn<'_>) -> Step {
    // The output is `100 Continue`, or the answer to an earlier request.
    if !turn.connection.outbox().output.is_empty() && turn.connection.flush().is_err() {
        return Step::On(turn.connection, Next::Close);
    }
    let limits = turn.connection.outbox().terms.limits;
    // If the body goes into a file, the channel leads there. It is not kept beyond this turn, because it takes up
    // descriptors.
    let (mut parts_left, mut channel) = (PARTS_PER_TURN, None);
    for _ in 0..RECEIVES_PER_TURN {
        match receive_part(turn.driven, &mut turn.connection, turn.desk, &mut parts_left, &mut channel) {
            Ok(BodyPart::Some) => {}
            Ok(BodyPart::Nothing) => return Step::On(turn.connection, Next::Wait),
            Ok(BodyPart::Waits) => return await_memory(turn),
            Err(UploadFailure::Gone) => return Step::On(turn.connection, Next::Close),
            Err(UploadFailure::Refused(refusal)) => {
                let start = start_of_request(&turn.connection);
                return refuse(turn, refusal, &start);
            }
        }
        let Phase::Upload(upload) = &mut turn.connection.phase else {
            unreachable!("only called in this phase")
        };
        if upload.is_done() {
            return Step::On(turn.connection, Next::Answer);
        }
        let age_ms = turn.driven.now_ms.saturating_sub(upload.since_ms);
        if age_ms > limits.body_rate_grace_ms && upload.bytes() * 1000 < limits.body_rate * age_ms {
            let start = start_of(&upload.head);
            return refuse(turn, TOO_SLOW, &start);
        }
        upload.lapse(turn.driven.now_ms);
        let deadline_ms = turn.driven.now_ms + limits.body_idle_timeout_ms;
        turn.driven.timers.set(turn.key, deadline_ms);
        if turn.connection.unparsed {
            break;
        }
    }
    Step::On(turn.connection, Next::Again)
}

/// The result of receiving some of a body.
enum BodyPart {
    Some,
    /// No bytes are there now.
    Nothing,
    /// The body has to wait for memory.
    Waits,
}

/// Receives some of a request body, and keeps the received bytes that do not belong to it.
fn receive_part(
    driven: &Loop,
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
        if is_direct && !admits(driven, upload) {
            return Ok(BodyPart::Waits);
        }
        let received = if is_direct {
            upload.receive(&mut outbox.transport, channel, &driven.shared.config)?
        } else {
            let received = outbox.transport.receive(&mut desk.buffer)?;
            received.map(|bytes| Received { bytes, more: bytes == desk.buffer.len() })
        };
        let Some(received) = received else { return Ok(BodyPart::Nothing) };
        if received.bytes == 0 {
            return Err(UploadFailure::Gone);
        }
        driven.shared.tally.add(Cell::ReceivedBytes, received.bytes as u64);
        *more = received.more;
        if is_direct {
            return Ok(BodyPart::Some);
        }
        received.bytes
    };
    let used = upload.feed(&desk.buffer[..filled], &driven.shared.config, parts_left)?;
    if used < filled {
        connection.keep(&desk.buffer[used..filled], true);
    }
    Ok(BodyPart::Some)
}
