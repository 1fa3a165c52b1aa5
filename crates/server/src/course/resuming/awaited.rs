//! Answers to requests that wait with the loop.

use adyton_http::Request;

use crate::answering::errand::Errand;
use crate::answering::exchange::{Exchange, RequestBytes, parse_again};
use crate::answering::reply::Reply;
use crate::answering::step::{Next, Step};
use crate::client::connection::{Phase, Respond};
use crate::course::concluding::{conclude, conclude_answer, watch_reader};
use crate::course::scripting::release_script;
use crate::course::sending_on::send_on;
use crate::course::serve::resume;
use crate::course::turn::Turn;
use crate::event_loop::{Loop, Waiting};
use crate::threads::desk::Desk;

/// The part of an answer that follows the written one.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Rest {
    /// Nothing: the answer is whole, or cut.
    Nothing,
    /// More of the script's output.
    Output,
}

/// Answers a request that waits with the loop: `write` writes the head, and the beginning of the body.
pub(crate) fn answer_waiting(
    driven: &mut Loop,
    key: usize,
    desk: &mut Desk,
    write: impl FnOnce(&mut Reply<'_>, Request<'_>) -> Rest,
) -> Option<Errand> {
    let Waiting { mut exchange, .. } = driven.tickets.waiting.remove(&key)?;
    driven.connections.away -= 1;
    resume(driven, key, desk, |mut turn| {
        let Turn { driven, desk, connection, .. } = &mut turn;
        let RequestBytes::Owned(owned) = exchange.take_request() else {
            unreachable!("what waits with the loop has left the desk")
        };
        parse_again(&mut desk.head, &owned.head, &driven.shared.config.head);
        let Exchange { answer, started_us, .. } = &mut *exchange;
        answer.outbox().output.lend(&mut desk.spare);
        let mut reply = Reply::of_script(answer, &driven.shared.common, &driven.date);
        let then = write(&mut reply, desk.head.of(&owned.head));
        if reply.goes_on() {
            exchange.request = RequestBytes::Owned(owned);
            release_script(driven, key, desk);
            send_on(turn, exchange)
        } else if then == Rest::Nothing {
            reply.end();
            let asked_for = desk.head.of(&owned.head);
            let after = conclude_answer(driven, connection, answer, *started_us, asked_for);
            desk.keep_exchange(exchange);
            conclude(turn, after)
        } else {
            begin_output(turn, exchange, owned.head)
        }
    })
}

/// Goes on after the head of a script's answer is written: the rest is read from the script as the client takes it.
fn begin_output(mut turn: Turn<'_>, mut exchange: Box<Exchange>, head: Vec<u8>) -> Step {
    let answer = &mut exchange.answer;
    answer.row = turn.driven.shared.tally.row_of(turn.desk.head.path.of(&head), answer.status);
    turn.connection.outbox = answer.outbox.take();
    let mut respond = Respond::new(answer.after());
    if turn.connection.outbox().terms.log.is_some() {
        exchange.head = head;
    }
    (respond.exchange, respond.is_script) = (Some(exchange), true);
    turn.connection.phase = Phase::Respond(Box::new(respond));
    watch_reader(turn.driven, turn.key, &mut turn.connection);
    Step::On(turn.connection, Next::Continue)
}

/// Answers with an error page, like [`answer_waiting`].
pub(crate) fn fail_waiting(
    driven: &mut Loop,
    key: usize,
    desk: &mut Desk,
    status: u16,
    detail: &str,
) -> Option<Errand> {
    answer_waiting(driven, key, desk, |reply, _| {
        reply.fail(status, detail);
        Rest::Nothing
    })
}
