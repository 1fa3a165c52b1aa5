//! Interruption of a call that takes too long.

use std::io;
use std::sync::Arc;
use std::sync::atomic::Ordering;

use adyton_crew::Post;
use adyton_log::{self as log, messages};
use adyton_sys::clock;

use crate::app::LateCall;
use crate::board::tally::Cell;
use crate::lock::lock;
use crate::threads::shared::{Http, Shared};
use crate::threads::task::{Limit, Stage, Task};

/// Counts a thread that interrupts a call: the interpreter is not taken down while such a thread exists.
struct Interrupter(Arc<Shared>);

impl Interrupter {
    fn new(shared: &Arc<Shared>) -> Self {
        shared.interrupters.fetch_add(1, Ordering::SeqCst);
        Self(Arc::clone(shared))
    }
}

impl Drop for Interrupter {
    fn drop(&mut self) {
        self.0.interrupters.fetch_sub(1, Ordering::SeqCst);
    }
}

/// The call that is interrupted.
struct Late<'a> {
    shared: &'a Shared,
    post: &'a Post<Http>,
    task: &'a Task,
    /// The limit that the call had passed when it was interrupted, and the time at which its last item had come.
    passed: Option<(Limit, Option<u64>)>,
}

impl Late<'_> {
    /// Returns the thread's task, if the thread still has this one, and it is overdue.
    fn same<'t>(&self, now: &'t mut Option<Task>) -> Option<&'t mut Task> {
        now.as_mut().filter(|now| now.place() == self.task.place() && now.stage == Stage::Overdue)
    }
}

impl LateCall for Late<'_> {
    fn while_in(&mut self, look: &mut dyn FnMut()) {
        // The lock is held meanwhile, so that the call cannot end.
        let mut now = lock(&self.post.own.task);
        if self.same(&mut now).is_some() {
            look();
        }
    }

    fn end(&mut self, strike: &mut dyn FnMut()) {
        let (item_ms, mut now) = (&self.post.own.item_ms, lock(&self.post.own.task));
        let Some(same) = self.same(&mut now) else { return };
        match same.due_ms(item_ms).filter(|&(due_ms, _)| due_ms <= clock::monotonic_ms()) {
            Some((_, limit)) => {
                self.passed = Some((limit, same.last_item_ms(item_ms)));
                same.stage = Stage::Interrupted;
                self.shared.tally.count(Cell::TimedOut);
                strike();
            }
            // A piece of the answer has come meanwhile.
            None => same.stage = Stage::Runs,
        }
    }
}

/// Interrupts the request of a task, on a thread of its own: taking the interpreter may take long.
///
/// # Errors
///
/// The process may not have another thread.
pub(crate) fn interrupt(shared: &Arc<Shared>, post: &Arc<Post<Http>>, task: Task) -> io::Result<()> {
    let interrupter = Interrupter::new(shared);
    let post = Arc::clone(post);
    let run = move || {
        let Some(host) = &interrupter.0.host else { return };
        let mut late = Late { shared: &interrupter.0, post: &post, task: &task, passed: None };
        let stack = host.interrupt(post.own.thread, &mut late);
        let passed = late.passed;
        if let (Some(stack), Some(passed)) = (stack, passed) {
            let how = match passed {
                (Limit::Silence, None) => "takes longer than --request-timeout",
                (Limit::Silence, Some(_)) => "has given nothing more for longer than --request-timeout",
                (Limit::Whole, _) => "takes longer than --request-total-timeout",
            };
            log::write_about(
                task.id.as_ref(),
                &messages::REQUEST_TIMEOUT,
                format_args!(
                    "{} {how} allows and is interrupted; it was here:\n{}",
                    task.what,
                    stack.trim_end()
                ),
            );
        }
    };
    std::thread::Builder::new().name("adyton-interrupt".into()).spawn(run).map(|_| ())
}
