//! The watch: takes a loop from a driver whose call of the application takes too long.
//!
//! It looks once a millisecond, and only while some loop calls: a call that it sees twice in a row loses its
//! thread the loop. So a slow call holds the others up for one to two milliseconds, and that only until its
//! endpoint is known to be slow. Finer looks would cost the calls that are quick more than that.

use std::io;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread::JoinHandle;
use std::time::Duration;

use crate::server::Shared;
use adyton_crew::Look;

/// How often the watch looks; each look costs a few microseconds of a CPU.
const TICK: Duration = Duration::from_millis(1);

/// Ticks without a call before the watch goes to sleep: waking it costs a system call.
const TICKS_AWAKE: u32 = 50;

/// Starts the watch of a server; the flag ends it.
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
    // The first to set it is the only one.
    let _ = shared.watch.set(handle.thread().clone());
    Ok((handle, stop))
}

fn run(shared: &Shared, stop: &AtomicBool, loops: usize) {
    let mut seen = vec![Look::default(); loops];
    let mut idle_ticks = 0;
    #[cfg(debug_assertions)]
    let mut alarm = Alarm::default();
    while !stop.load(Ordering::SeqCst) {
        shared.crew.watch_sleeps(idle_ticks > TICKS_AWAKE);
        let mut moved = false;
        for (home, look) in seen.iter_mut().enumerate() {
            if let Some((mut driven, post)) = shared.crew.look(home, look) {
                driven.relieve(&post);
                shared.crew.offer(driven);
            }
            moved |= look.moved;
        }
        #[cfg(debug_assertions)]
        alarm.check(shared);
        if moved || idle_ticks <= TICKS_AWAKE {
            idle_ticks = if moved { 0 } else { idle_ticks + 1 };
            std::thread::park_timeout(TICK);
        } else {
            std::thread::park();
            idle_ticks = 0;
        }
    }
    shared.crew.watch_sleeps(false);
}

/// Notices that work is left lying: the deadlock detector of debug builds.
#[cfg(debug_assertions)]
#[derive(Default)]
struct Alarm {
    complaints: u32,
}

#[cfg(debug_assertions)]
impl Alarm {
    /// Ends the process when a complaint lasts: a test that hangs would not say why.
    fn check(&mut self, shared: &Shared) {
        const TICKS_MAX: u32 = 2_000;

        let Some(complaint) = shared.crew.complaint() else {
            self.complaints = 0;
            return;
        };
        self.complaints += 1;
        if self.complaints >= TICKS_MAX {
            eprintln!("adyton: the threads are stuck: {complaint}");
            std::process::abort();
        }
    }
}
