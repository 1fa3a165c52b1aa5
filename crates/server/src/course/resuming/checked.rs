//! Requests whose credentials have been verified.

use crate::answering::exchange::{Exchange, RequestBytes, parse_again};
use crate::answering::judged::Judged;
use crate::answering::step::{Next, Step};
use crate::answering::verdict::{Arrived, Verdict};
use crate::course::serve::answer_owned;
use crate::course::turn::Turn;

/// Answers a request after a program has said who the client is.
pub(crate) fn answer_judged(mut turn: Turn<'_>, mut exchange: Box<Exchange>, judged: Judged) -> Step {
    if !exchange.rest.is_empty() {
        (turn.connection.carry, turn.connection.unparsed) = (std::mem::take(&mut exchange.rest), true);
    }
    (exchange.answer.live, exchange.site) = (None, None);
    if let (RequestBytes::Owned(owned), Some(body)) = (&mut exchange.request, judged.body) {
        owned.body = body;
    }
    answer_checked(turn, exchange, judged.verdict)
}

/// Answers a request whose credentials are verified, as if it had come now.
pub(crate) fn answer_checked(mut turn: Turn<'_>, mut exchange: Box<Exchange>, mut verdict: Verdict) -> Step {
    turn.connection.outbox = exchange.answer.outbox.take();
    let RequestBytes::Owned(owned) = exchange.take_request() else {
        return Step::On(turn.connection, Next::Close);
    };
    turn.connection.outbox_mut().output.lend(&mut turn.desk.spare);
    parse_again(&mut turn.desk.head, &owned.head, &turn.driven.shared.config.head);
    // The request was counted when it came, and `answer_request` counts it again.
    turn.connection.requests -= 1;
    verdict.of = Some(Arrived { started_us: exchange.started_us, id: exchange.answer.id.clone() });
    let onward = exchange.answer.onward.take();
    turn.desk.keep_exchange(exchange);
    let exchange = turn.desk.exchange.get_or_insert_with(Exchange::empty);
    (exchange.verdict, exchange.answer.onward) = (Some(Box::new(verdict)), onward);
    let Turn { driven, desk, key, connection } = turn;
    let step = answer_owned(Turn::new(driven, desk, key, connection), *owned);
    if let Some(exchange) = &mut desk.exchange {
        exchange.answer.onward = None;
    }
    step
}
