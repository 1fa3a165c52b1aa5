//! The watch: a thread that takes a loop from a driver whose call of the application takes too long.
//!
//! The watch looks from time to time, and only while some loop calls the application: a driver that it sees twice in a
//! row on the same errand loses the loop. A look costs a switch of threads on the driver's CPU, up to 25 µs. So looks
//! are rare while all calls are quick, and frequent for a second after a slow one: then a slow call holds other
//! requests up for one to two milliseconds, and only until its endpoint is known to be slow.
//!
//! A call may last because other processes have the CPU. Another thread would not get a CPU either, and handing the
//! loop over costs time, so such a call gets some grace.
//!
//! A thread that gets the interpreter after a long wait also runs the requests that have queued meanwhile; if its own
//! request takes long, the watch calls up other threads for them.
//!
//! The watch also sends the bytes of streams that have lost the loop, when an item is slow after items that were quick.

use std::io;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread::JoinHandle;
use std::time::Duration;

use adyton_crew::{Look, Post};
use adyton_log as log;
use adyton_sys::clock;

use crate::threads::shared::{Http, Own, Shared};

/// Time between two looks after a slow call.
const TICK: Duration = Duration::from_millis(1);

/// Time between two looks when there was no slow call for a while.
const CALM_TICK: Duration = Duration::from_millis(4);

/// Ticks after a slow call during which further slow calls are expected.
const TICKS_ALERT: u32 = 1_000;

/// Ticks without a call before the watch goes to sleep: waking it costs a system call.
const TICKS_AWAKE: u32 = 20;

/// Times in a row that a call gets grace: a thread that gets no CPU for so many ticks may have a lower priority.
const GRACES_MAX: u32 = 20;

/// A call computes if it uses at least a quarter of a CPU; this is the divisor of that share.
const COMPUTES_SHARE: u64 = 4;

/// The posts of late threads that have lent an outbox with unsent bytes: their items came so quickly that they were
/// left to be sent together.
#[derive(Default)]
struct Unsent(Vec<(Arc<Post<Http>>, usize)>);

impl Unsent {
    /// Sends the bytes of threads whose next item has not come since the last look. Returns whether further threads
    /// have unsent bytes.
    fn send(&mut self, shared: &Shared) -> bool {
        for (post, number) in self.0.drain(..) {
            let lasts = post.own.unsent.compare_exchange(number, 0, Ordering::AcqRel, Ordering::Relaxed);
            if lasts.is_ok()
                && let Some(mut outbox) = post.own.lent.take()
            {
                outbox.send();
                post.own.lent.put(outbox);
            }
        }
        if shared.unsent.swap(false, Ordering::Relaxed) {
            self.0 = shared.crew.posts(|own| {
                let number = own.unsent.load(Ordering::Acquire);
                (number > 0).then_some(number)
            });
        }
        !self.0.is_empty()
    }
}

/// The grace of a call that lasts long, and is not taken for slow yet.
#[derive(Default)]
struct Grace {
    /// The CPU time of the call's thread when the call last got grace, and the time at which it did.
    given: Option<(u64, u64)>,
    /// How often it got grace in a row.
    times: u32,
}

impl Grace {
    /// Whether a call lasts because it waits for something or computes, and not because its thread waits for a CPU.
    fn is_slow(&mut self, own: &Own) -> bool {
        let (used_us, now_us) = (own.tid.cpu_us(), clock::monotonic_us());
        let computes = self.given.is_some_and(|(before_us, then_us)| {
            used_us.saturating_sub(before_us) * COMPUTES_SHARE >= now_us - then_us
        });
        if computes || self.times >= GRACES_MAX || !own.tid.is_runnable() {
            *self = Self::default();
            return true;
        }
        *self = Self { given: Some((used_us, now_us)), times: self.times + 1 };
        false
    }
}

/// Starts the watch of a server. Setting the flag ends the watch.
///
/// # Errors
///
/// The process may not have another thread.
pub(crate) fn start(shared: &Arc<Shared>, loops: usize) -> io::Result<(JoinHandle<()>, Arc<AtomicBool>)> {
    let stop = Arc::new(AtomicBool::new(false));
    let (watched, asked) = (Arc::clone(shared), Arc::clone(&stop));
    let handle = std::thread::Builder::new()
        .name("adyton-watch".into())
        .spawn(move || run(&watched, &asked, loops))?;
    // A server has one watch, so this is set once.
    let _ = shared.watch.set(handle.thread().clone());
    Ok((handle, stop))
}

fn run(shared: &Shared, stop: &AtomicBool, loops: usize) {
    let mut seen: Vec<(Look, Grace)> = (0..loops).map(|_| Default::default()).collect();
    let (mut idle_ticks, mut alert) = (0, 0_u32);
    let (mut unsent, mut left) = (Unsent::default(), false);
    #[cfg(debug_assertions)]
    let mut alarm = Alarm::default();
    while !stop.load(Ordering::SeqCst) {
        shared.crew.watch_sleeps(idle_ticks > TICKS_AWAKE);
        let (mut moved, mut in_doubt) = (false, unsent.send(shared));
        if std::mem::replace(&mut left, shared.crew.left_some()) {
            // The thread to which these requests were left is still busy with its own request.
            shared.crew.call_up_rest(clock::monotonic_ms());
        }
        in_doubt |= left;
        for (home, (look, grace)) in seen.iter_mut().enumerate() {
            if let Some((mut driven, post)) = shared.crew.look(home, look, |own| grace.is_slow(own)) {
                driven.relieve(&post);
                shared.crew.offer(driven);
                alert = TICKS_ALERT;
            }
            if look.moved {
                *grace = Grace::default();
            }
            moved |= look.moved;
            in_doubt |= grace.given.is_some();
        }
        #[cfg(debug_assertions)]
        {
            // In a deadlock nothing moves, and the watch must not sleep over it.
            in_doubt |= alarm.is_worried(shared);
        }
        if moved || in_doubt || idle_ticks <= TICKS_AWAKE {
            idle_ticks = if moved { 0 } else { idle_ticks + 1 };
            std::thread::park_timeout(if alert > 0 || in_doubt { TICK } else { CALM_TICK });
            alert = alert.saturating_sub(1);
        } else {
            std::thread::park();
            idle_ticks = 0;
        }
    }
    shared.crew.watch_sleeps(false);
}

/// The deadlock detector of debug builds: it notices work that no thread does.
#[cfg(debug_assertions)]
#[derive(Default)]
struct Alarm {
    complaints: u32,
}

#[cfg(debug_assertions)]
impl Alarm {
    /// Whether the detector has a complaint. Ends the process if the complaint lasts: a test that merely hung would not
    /// say why.
    fn is_worried(&mut self, shared: &Shared) -> bool {
        const TICKS_MAX: u32 = 2_000;

        let Some(complaint) = shared.crew.complaint() else {
            self.complaints = 0;
            return false;
        };
        self.complaints += 1;
        if self.complaints >= TICKS_MAX {
            log::put_plain(&format!("adyton: the threads are stuck: {complaint}\n"));
            log::settle();
            std::process::abort();
        }
        true
    }
}
