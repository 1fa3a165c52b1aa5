//! Scripts of requests: they wait for a place, and their output is sent as the client takes it.

use std::sync::Arc;

use adyton_sys::clock;

use crate::answering::errand::LOOK_FOR_CLIENT_MS;
use crate::answering::refusals::{SCRIPTS_FULL, start_of};
use crate::answering::reply::Reply;
use crate::answering::step::{Next, Step};
use crate::board::tally::Cell;
use crate::cgi::{ScriptOutput, WantedScript};
use crate::client::connection::{Phase, Respond};
use crate::client::output::Flushed;
use crate::course::concluding::{refuse_as, watch_reader};
use crate::course::dispatch::send_and_watch;
use crate::course::turn::Turn;
use crate::event_loop::{Awaited, Loop, Waiting};
use crate::site::limits::CallLimits;
use crate::threads::desk::Desk;

/// Bytes of a script's standard error that are read at once.
pub(crate) const ERRORS_BYTES: usize = 16 << 10;

/// Reads of one script's output before the other connections get their turn.
const READS_PER_TURN: usize = 16;

/// Bytes of output that are read at once.
pub(crate) const READ_BYTES: usize = 64 << 10;

/// Has a script answer the request of the desk's exchange, as soon as it may run; the desk's head is parsed.
pub(crate) fn begin_script(mut turn: Turn<'_>, wanted: Box<WantedScript>) -> Step {
    let mut exchange = turn.desk.take_exchange();
    exchange.key = turn.key;
    if let Some(rest) = exchange.leave_desk(&turn.desk.buffer) {
        turn.connection.keep(rest, true);
    }
    let home = Arc::clone(&turn.driven.shared.homes[turn.driven.home]);
    let Some(seat) = turn.driven.shared.places.ask(turn.key, home) else {
        turn.driven.shared.tally.count(Cell::TurnedAway);
        turn.connection.outbox = exchange.answer.outbox.take();
        let start = start_of(exchange.request.head_bytes(&[]));
        let id = exchange.answer.id.clone();
        turn.desk.keep_exchange(exchange);
        return refuse_as(turn, id, SCRIPTS_FULL, &start);
    };
    send_and_watch(turn.driven, turn.key, exchange.outbox(), turn.desk);
    let now_ms = clock::monotonic_ms();
    let due_ms = now_ms + turn.driven.shared.config.queue_timeout_ms;
    turn.driven.connections.put_away(turn.key, turn.connection);
    turn.driven.expect(
        turn.key,
        now_ms,
        CallLimits { silence_ms: turn.driven.shared.config.queue_timeout_ms, total_ms: 0 },
    );
    if turn.driven.connections.has_ended(turn.key) {
        turn.driven.expect_departed(turn.key);
    }
    if seat.has_place() {
        turn.driven.tickets.at_once.push_back(turn.key);
    }
    let awaits = Awaited::Place(seat, wanted);
    turn.driven
        .tickets
        .waiting
        .insert(turn.key, Waiting { exchange, awaits, since_ms: now_ms, due_ms: Some(due_ms) });
    Step::Away(None)
}

/// Goes on with an answer of a script, after everything that was read of it is sent.
pub(crate) fn respond_from_script(mut turn: Turn<'_>, mut respond: Box<Respond>) -> Step {
    if turn.driven.connections.has_ended(turn.key) {
        respond.ended_ms.get_or_insert(turn.driven.now_ms);
    }
    let now_ms = turn.driven.now_ms;
    let most = turn.desk.buffer.len().min(READ_BYTES);
    for _ in 0..READS_PER_TURN {
        let script =
            turn.driven.scripts.of_client(turn.key).and_then(|number| turn.driven.scripts.get_mut(number));
        let read = script.map_or(ScriptOutput::End { is_whole: false }, |script| {
            script.read(&mut turn.desk.buffer[..most], now_ms)
        });
        let Some(exchange) = &mut respond.exchange else { return Step::On(turn.connection, Next::Close) };
        let answer = &mut exchange.answer;
        if read == ScriptOutput::Nothing && !answer.has_unflushed() {
            return await_script(turn, respond);
        }
        turn.connection.outbox_mut().output.lend(&mut turn.desk.spare);
        answer.outbox = turn.connection.outbox.take();
        let mut reply = Reply::new(answer, &turn.driven.shared.common, &turn.driven.date);
        match read {
            ScriptOutput::Bytes(bytes) => reply.write(&turn.desk.buffer[..bytes]),
            ScriptOutput::End { is_whole: true } => reply.end(),
            ScriptOutput::End { is_whole: false } => reply.abort(),
            ScriptOutput::Nothing => reply.flush_coder(),
        }
        let is_coded = reply.is_coded();
        turn.connection.outbox = answer.outbox.take();
        if matches!(read, ScriptOutput::End { .. }) {
            release_script(turn.driven, turn.key, turn.desk);
            respond.is_script = false;
            turn.connection.phase = Phase::Respond(respond);
            return Step::On(turn.connection, Next::Continue);
        }
        match turn.connection.flush() {
            // Compressing takes time, so other connections have their turn now.
            Ok(Flushed::All) if is_coded && read != ScriptOutput::Nothing => break,
            Ok(Flushed::All) => {}
            Ok(flushed) => {
                turn.connection.phase = Phase::Respond(respond);
                watch_reader(turn.driven, turn.key, &mut turn.connection);
                let next = if flushed == Flushed::Turn { Next::Again } else { Next::Wait };
                return Step::On(turn.connection, next);
            }
            Err(_) => {
                turn.connection.phase = Phase::Respond(respond);
                return Step::On(turn.connection, Next::Close);
            }
        }
    }
    turn.connection.phase = Phase::Respond(respond);
    Step::On(turn.connection, Next::Again)
}

/// Has a connection wait for its script, which has nothing for it now. A client that has ended its side is taken
/// for gone after a moment, as before an answer begins.
fn await_script(mut turn: Turn<'_>, respond: Box<Respond>) -> Step {
    let since_ms = respond.ended_ms;
    turn.connection.phase = Phase::Respond(respond);
    let Some(since_ms) = since_ms else {
        turn.driven.timers.clear(turn.key);
        return Step::On(turn.connection, Next::Wait);
    };
    let is_far = turn.driven.now_ms >= since_ms + LOOK_FOR_CLIENT_MS;
    if turn.connection.outbox().is_abandoned(is_far) {
        return Step::On(turn.connection, Next::Close);
    }
    if is_far {
        turn.driven.timers.clear(turn.key);
    } else {
        turn.driven.timers.set(turn.key, since_ms + LOOK_FOR_CLIENT_MS);
    }
    Step::On(turn.connection, Next::Wait)
}

/// Releases a connection's script, which goes on by itself until its time is over.
pub(crate) fn release_script(driven: &mut Loop, key: usize, desk: &mut Desk) {
    if let Some(number) = driven.scripts.of_client(key) {
        driven.scripts.release(key, driven.now_ms);
        forget_done(driven, number, desk);
    }
}

/// Forgets a script that has ended and whose answer is given. The rest of its process group is ended.
pub(crate) fn forget_done(driven: &mut Loop, number: usize, desk: &mut Desk) {
    if driven.scripts.get_mut(number).is_some_and(|script| script.is_done())
        && let Some(mut script) = driven.scripts.remove(number)
    {
        script.end();
        script.read_last_words(&mut desk.buffer[..ERRORS_BYTES]);
    }
}
