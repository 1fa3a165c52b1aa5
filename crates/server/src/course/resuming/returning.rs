//! Exchanges that come back from the application, to the driver or from another thread.

use std::sync::atomic::Ordering;

use crate::answering::answer::After;
use crate::answering::errand::Errand;
use crate::answering::exchange::{Exchange, RequestBytes};
use crate::answering::outcome::{Left, Stream};
use crate::answering::step::{Next, Step, Worked};
use crate::client::connection::{Phase, Respond};
use crate::course::concluding::{conclude, conclude_answer, watch_reader};
use crate::course::resuming::checked::answer_judged;
use crate::course::resuming::redeeming::keep_ticket;
use crate::course::sending::finish;
use crate::course::sending_on::send_on;
use crate::course::serve::{answer_buffered, resume, work, work_from};
use crate::course::turn::{Turn, guarded};
use crate::event_loop::Loop;
use crate::threads::desk::Desk;
use crate::threads::inbox::Return;

/// Goes on after the application has answered in a call of this loop's driver.
pub(crate) fn answered(
    driven: &mut Loop,
    exchange: Box<Exchange>,
    left: Left,
    desk: &mut Desk,
) -> Option<Errand> {
    let key = exchange.key;
    // The application may have changed a file.
    driven.looks += 1;
    match left {
        Left::Nothing => resume(driven, key, desk, |turn| conclude_call(turn, exchange)),
        Left::Stream(stream) => resume(driven, key, desk, |turn| begin_stream(turn, exchange, stream)),
        Left::Later(claim) => guarded(driven, key, desk, |driven, desk| {
            Worked::Away(keep_ticket(driven, exchange, claim, desk))
        }),
        Left::Onward => resume(driven, key, desk, |turn| send_on(turn, exchange)),
        Left::Judged(judged) => resume(driven, key, desk, |turn| answer_judged(turn, exchange, *judged)),
    }
}

/// Concludes a whole answer of the application.
fn conclude_call(mut turn: Turn<'_>, mut exchange: Box<Exchange>) -> Step {
    let Exchange { request, answer, started_us, .. } = &mut *exchange;
    let asked_for = turn.desk.head.of(request.head_bytes(&turn.desk.buffer));
    let after = conclude_answer(turn.driven, &mut turn.connection, answer, *started_us, asked_for);
    if let RequestBytes::Lent { end, filled, .. } = *request {
        if after == After::Next {
            turn.desk.keep_exchange(exchange);
            return answer_buffered(turn, end..filled);
        }
        turn.connection.keep(&turn.desk.buffer[end..filled], true);
    }
    turn.desk.keep_exchange(exchange);
    conclude(turn, after)
}

/// Begins to send an answer of which the application has given the beginning.
fn begin_stream(mut turn: Turn<'_>, mut exchange: Box<Exchange>, stream: Box<dyn Stream>) -> Step {
    let Exchange { request, answer, head, .. } = &mut *exchange;
    let bytes = request.head_bytes(&turn.desk.buffer);
    answer.row = turn.driven.shared.tally.row_of(turn.desk.head.path.of(bytes), answer.status);
    if answer.outbox().terms.log.is_some() {
        *head = bytes.to_vec();
    }
    if let RequestBytes::Lent { end, filled, .. } = *request {
        turn.connection.keep(&turn.desk.buffer[end..filled], true);
    }
    turn.connection.outbox = answer.outbox.take();
    let mut respond = Respond::new(answer.after());
    exchange.forget_request();
    (respond.exchange, respond.stream) = (Some(exchange), Some(stream));
    turn.connection.phase = Phase::Respond(Box::new(respond));
    watch_reader(turn.driven, turn.key, &mut turn.connection);
    Step::On(turn.connection, Next::Continue)
}

/// Goes on after the application has given the next pieces of an answer.
pub(crate) fn pulled(
    driven: &mut Loop,
    exchange: Box<Exchange>,
    stream: Option<Box<dyn Stream>>,
    desk: &mut Desk,
) -> Option<Errand> {
    let key = exchange.key;
    guarded(driven, key, desk, |driven, desk| {
        let mut connection = driven.connections.take_away(key);
        connection.come_back(exchange, stream);
        work(Turn::new(driven, desk, key, connection))
    })
}

/// Takes back a connection that comes from another thread.
pub(crate) fn take_back(driven: &mut Loop, back: Return, desk: &mut Desk) -> Option<Errand> {
    let Return { exchange, left, is_departed, learned } = back;
    let key = exchange.key;
    driven.looks += 1;
    driven.turns.begin();
    if let Some((endpoint, pace)) = learned {
        driven.calls.endpoints.took(endpoint, pace);
    }
    let missed = driven.connections.take_missed(key);
    if missed {
        driven.shared.inboxes[driven.home].missed.fetch_sub(1, Ordering::Relaxed);
    }
    driven.connections.away -= 1;
    let stream = match left {
        Left::Nothing => None,
        Left::Stream(stream) => Some(stream),
        Left::Onward => {
            return resume(driven, key, desk, |mut turn| {
                turn.connection.more |= missed;
                send_on(turn, exchange)
            });
        }
        Left::Judged(judged) => {
            return resume(driven, key, desk, |mut turn| {
                turn.connection.more |= missed;
                answer_judged(turn, exchange, *judged)
            });
        }
        Left::Later(claim) => {
            return guarded(driven, key, desk, |driven, desk| {
                let errand = keep_ticket(driven, exchange, claim, desk);
                if missed && driven.is_waiting(key) {
                    driven.expect_departed(key);
                }
                Worked::Away(errand)
            });
        }
    };
    guarded(driven, key, desk, |driven, desk| {
        let mut connection = driven.connections.take_away(key);
        if is_departed {
            connection.depart(exchange);
        } else {
            connection.come_back(exchange, stream);
        }
        // An error shows again when more is sent.
        let _ = connection.flush();
        if !missed && connection.is_answered() {
            return go_on(Turn::new(driven, desk, key, connection));
        }
        let streams = matches!(&connection.phase, Phase::Respond(respond) if respond.stream.is_some());
        if streams || !connection.outbox().output.is_empty() {
            watch_reader(driven, key, &mut connection);
        }
        work(Turn::new(driven, desk, key, connection))
    })
}

/// Goes on with an answered connection that has come back and for which nothing has come meanwhile: the next request
/// makes an event.
fn go_on(mut turn: Turn<'_>) -> Worked {
    let Phase::Respond(respond) = std::mem::replace(&mut turn.connection.phase, Phase::Head) else {
        unreachable!("only called in this phase")
    };
    work_from(turn, |turn| finish(turn, *respond))
}
