//! The rest of an answer: sent at the pace of the client, and made at the pace of sending.

use crate::answering::answer::After;
use crate::answering::errand::Errand;
use crate::answering::step::{Next, Step};
use crate::client::connection::{Connection, Phase, Respond, after_live};
use crate::client::output::Flushed;
use crate::course::concluding::{after_answer, log_streamed, note_end, wait_for_reader};
use crate::course::dispatch::send;
use crate::course::scripting::respond_from_script;
use crate::course::turn::Turn;
use crate::event_loop::Loop;
use crate::threads::desk::Desk;
use crate::threads::task::NO_KEY;

/// Pulls from one stream before the other connections get their turn: a mebibyte in all.
const PULLS_PER_TURN: u32 = 4;

/// Goes on with an answer: sends it, and pulls more when everything is sent.
pub(crate) fn respond(mut turn: Turn<'_>) -> Step {
    match turn.connection.flush() {
        Ok(Flushed::All) => {}
        Ok(flushed) => return wait_for_reader(turn.connection, flushed),
        Err(error) => {
            note_end(&error);
            return Step::On(turn.connection, Next::Close);
        }
    }
    let Phase::Respond(mut respond) = std::mem::replace(&mut turn.connection.phase, Phase::Head) else {
        unreachable!("only called in this phase")
    };
    // Bytes that come from now on make their event while the application has the exchange.
    respond.missed = true;
    if respond.is_script {
        return respond_from_script(turn, respond);
    }
    if respond.stream.is_none() {
        return finish(turn, *respond);
    }
    if respond.pulls == PULLS_PER_TURN {
        respond.pulls = 0;
        turn.connection.phase = Phase::Respond(respond);
        return Step::On(turn.connection, Next::Again);
    }
    respond.pulls += 1;
    let (Some(stream), Some(mut exchange)) = (respond.stream.take(), respond.exchange.take()) else {
        unreachable!("a stream has its exchange")
    };
    turn.connection.phase = Phase::Respond(respond);
    turn.connection.outbox_mut().output.lend(&mut turn.desk.spare);
    exchange.answer.outbox = turn.connection.outbox.take();
    // The client may have sent something meanwhile.
    exchange.is_last = false;
    turn.driven.connections.put_away(turn.key, turn.connection);
    Step::Away(send(turn.driven, turn.key, Errand::Pull(exchange, stream)))
}

/// Ends an answer that is sent: the connection goes on with its next step.
pub(crate) fn finish(mut turn: Turn<'_>, respond: Respond) -> Step {
    turn.connection.outbox_mut().output.give_back(&mut turn.desk.spare);
    let missed = respond.missed;
    let after = next_after(turn.driven, &mut turn.connection, respond, turn.desk);
    turn.connection.more |= missed;
    after_answer(turn, after)
}

/// Returns a connection's next step after an answer is sent, and logs the answer if it was streamed.
fn next_after(
    driven: &mut Loop,
    connection: &mut Connection,
    mut respond: Respond,
    desk: &mut Desk,
) -> After {
    log_streamed(driven, connection, &respond);
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

/// Ends a connection. Returns an errand if the rest of a stream has to be dropped.
pub(crate) fn close(driven: &mut Loop, mut connection: Connection) -> Option<Errand> {
    let Phase::Respond(mut respond) = std::mem::replace(&mut connection.phase, Phase::Head) else {
        return None;
    };
    log_streamed(driven, &connection, &respond);
    let stream = respond.stream.take()?;
    send(driven, NO_KEY, Errand::Discard(stream, connection.outbox().terms.limits.call))
}

/// Reads and drops bytes until the client has closed.
///
/// Beyond the limit nothing more is read. That makes the client stop sending, and the deadline ends the connection.
/// Closing the connection at once would reset it before the client has read the answer.
pub(crate) fn linger(turn: Turn<'_>) -> Step {
    let Turn { desk, mut connection, .. } = turn;
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
