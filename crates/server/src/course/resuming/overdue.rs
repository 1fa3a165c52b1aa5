//! Calls and queued requests whose time is over.

use std::sync::Arc;
use std::sync::atomic::Ordering;

use adyton_crew::Post;
use adyton_log::{self as log, messages};

use crate::answering::errand::{Errand, Job};
use crate::answering::refusals::TIMED_OUT;
use crate::answering::step::{Next, Step, Worked};
use crate::board::tally::Cell;
use crate::client::outbox::Outbox;
use crate::course::concluding::refuse_as;
use crate::course::dispatch::turn_away;
use crate::course::resuming::departed::look_for_departed;
use crate::course::resuming::redeeming::overdue_waiting;
use crate::course::serve::{resume, work_from};
use crate::course::turn::{Turn, guarded};
use crate::event_loop::Loop;
use crate::lock::lock;
use crate::threads::desk::Desk;
use crate::threads::interrupt::interrupt;
use crate::threads::shared::Http;
use crate::threads::task::{NO_KEY, Stage, Task, log_stuck};

/// Time that an interrupted call has to end.
const REACTION_MS: u64 = 1_000;

/// Time between two searches for an overdue call that is not found, because it waits in the queue or is on its way
/// back.
const LOOK_AGAIN_MS: u64 = 1_000;

/// Handles a connection that is away and whose request may have passed one of its limits.
pub(crate) fn overdue(driven: &mut Loop, key: usize, desk: &mut Desk) -> Option<Errand> {
    if driven.is_waiting(key) {
        return overdue_waiting(driven, key, desk);
    }
    let home = driven.home;
    let is_its = |task: &Task| task.home == home && task.key == key && !task.lost;
    let post = driven.shared.crew.find(|post| lock(&post.own.task).as_ref().is_some_and(is_its));
    let task = post.as_ref().and_then(|post| lock(&post.own.task).clone());
    let (Some(post), Some(task)) = (post, task) else {
        driven.timers.set(key, driven.now_ms + LOOK_AGAIN_MS);
        if driven.connections.has_ended(key) {
            look_for_departed(driven, key);
        }
        return None;
    };
    // Without limits nothing is ever overdue.
    task.limits.first_ms()?;
    if let Some(again_ms) = press(driven, &post, &task) {
        driven.timers.set(key, again_ms);
        return None;
    }
    let Some(outbox) = post.own.lent.take() else {
        driven.timers.set(key, driven.now_ms + REACTION_MS);
        return None;
    };
    lose(driven, &post, &task);
    let (outbox, left) = outbox.disown();
    post.own.lent.put(left);
    driven.connections.away -= 1;
    guarded(driven, key, desk, |driven, desk| answer_in_place(driven, outbox, desk, &task))
}

/// Answers a request in the place of a lost thread.
fn answer_in_place(driven: &mut Loop, outbox: Option<Box<Outbox>>, desk: &mut Desk, task: &Task) -> Worked {
    let Some(outbox) = outbox else { return Worked::Ended(None) };
    let (key, begun) = (task.key, outbox.begun);
    let mut connection = driven.connections.take_away(key);
    connection.restart(outbox, driven.now_ms);
    let mut turn = Turn::new(driven, desk, key, connection);
    if begun {
        turn.connection.transport().reset_on_close();
        return work_from(turn, |turn| Step::On(turn.connection, Next::Close));
    }
    let id = task.id.clone().unwrap_or_else(|| turn.driven.ids.next(None, None));
    work_from(turn, |turn| refuse_as(turn, id, TIMED_OUT, task.what.to_string().as_bytes()))
}

/// Refuses a request that has waited too long in the queue.
pub(crate) fn give_up(driven: &mut Loop, job: Job, desk: &mut Desk) -> Option<Errand> {
    let Errand::Ask(exchange) = job.errand else { unreachable!("nothing else is given up") };
    let key = exchange.key;
    driven.connections.away -= 1;
    resume(driven, key, desk, |turn| turn_away(turn, exchange))
}

/// Looks at threads that drop the rest of answers whose clients have gone: dropping the rest may take longer than a
/// request may take.
pub(crate) fn look_at_discards(driven: &mut Loop) {
    let home = driven.home;
    let discards = driven.shared.crew.posts(|own| {
        lock(&own.task).clone().filter(|task| task.home == home && task.key == NO_KEY && !task.lost)
    });
    let are_left = driven.shared.inboxes[home].discards.load(Ordering::SeqCst) > 0;
    driven.discards_due_ms = are_left.then_some(driven.now_ms + LOOK_AGAIN_MS);
    for (post, task) in discards {
        match press(driven, &post, &task) {
            Some(again_ms) => driven.look_at_discards_by(again_ms),
            None => lose(driven, &post, &task),
        }
    }
}

/// Interrupts a call whose time is over. Returns the time of the next look; `None` if the call does not react.
fn press(driven: &Loop, post: &Arc<Post<Http>>, task: &Task) -> Option<u64> {
    let look_again_ms = driven.now_ms + task.limits.first_ms().unwrap_or(LOOK_AGAIN_MS);
    let Some((due_ms, _)) = task.due_ms(&post.own.item_ms) else { return Some(look_again_ms) };
    match task.stage {
        Stage::Parked => Some(look_again_ms),
        Stage::Runs if driven.now_ms < due_ms => Some(due_ms),
        Stage::Runs => {
            note(post, task, Task::expire);
            if let Err(error) = interrupt(&driven.shared, post, task.clone()) {
                let text = format_args!("a call cannot be interrupted: {error}");
                log::write_about(task.id.as_ref(), &messages::NOT_INTERRUPTED, text);
            }
            Some(driven.now_ms + REACTION_MS)
        }
        Stage::Overdue | Stage::Interrupted => None,
    }
}

/// Gives up the thread of a call that does not react.
fn lose(driven: &Loop, post: &Post<Http>, task: &Task) {
    note(post, task, |task| task.lost = true);
    let stacks = || driven.shared.host.as_ref().and_then(|host| host.held_stacks());
    log_stuck(task, driven.now_ms.saturating_sub(task.since_ms), stacks);
    // The count is raised after the stacks are in the log: the supervisor replaces the worker when it reads the count.
    driven.shared.tally.count(Cell::Stuck);
}

/// Changes a thread's task, if the thread still has this one.
fn note(post: &Post<Http>, task: &Task, change: fn(&mut Task)) {
    if let Some(same) = lock(&post.own.task).as_mut().filter(|now| now.place() == task.place() && !now.lost) {
        change(same);
    }
}
