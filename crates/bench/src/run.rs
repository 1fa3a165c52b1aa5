//! One run: learns what is right, calibrates, loads, watches, and reports.

use std::io;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::thread;
use std::time::Duration;

use adyton_sys::{clock, process};

use crate::counting::counter::Counter;
use crate::counting::counts::{DOUBLINGS, Doublings};
use crate::counting::tally::Tally;
use crate::failure::Failure;
use crate::generator::calibrate::{Answers, NullResponder, mean};
use crate::generator::event_loop::{Counted, Generator, Shared};
use crate::generator::learnt::Learnt;
use crate::generator::probe::learn;
use crate::generator::slow;
use crate::generator::slow_side::SlowSide;
use crate::machine::listen_queue::Queues;
use crate::machine::others::Ticks;
use crate::machine::server_side::{Server, Used, own_cpu_us};
use crate::plan::{Load, Plan, Slow, Until};
use crate::report::summary::Observed;
use crate::report::verdict;
use crate::report::whole::{MachineSide, Report};
use crate::target::url::Address;

/// Length of the calibration in milliseconds; below, the length of the warm-up before it.
///
/// Both keep two CPUs busy. In builds with debug assertions, whose figures nobody uses, they are a quarter as long,
/// because the tests run this program hundreds of times.
const CALIBRATION_MS: u64 = if cfg!(debug_assertions) { 100 } else { 400 };
const CALIBRATION_WARM_UP_MS: u64 = CALIBRATION_MS / 4;

/// The longest time, in milliseconds, of a measurement that ends after a number of requests: a day.
const LONGEST_MS: u64 = 86_400_000;

/// The progress of a run.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Progress {
    /// Time since the measurement began; negative during the warm-up.
    pub seconds: f64,
    /// Right answers so far.
    pub right: u64,
    /// All other outcomes so far.
    pub wrong: u64,
    /// Right answers so far by their time, which counts from when the request was due in an open loop, else from
    /// sending.
    pub doublings: Doublings,
    /// Whether other programs use the machine; this is checked during a run only if the user accepts disturbances.
    pub disturbed: bool,
}

impl Progress {
    fn of(seconds: f64, threads: &[Counted]) -> Self {
        let mut progress = Self { seconds, right: 0, wrong: 0, doublings: [0; DOUBLINGS], disturbed: false };
        for counted in threads {
            progress.right += counted.right.load(Ordering::Relaxed);
            progress.wrong += counted.wrong.load(Ordering::Relaxed);
            for (sum, count) in progress.doublings.iter_mut().zip(&counted.doublings) {
                *sum += count.load(Ordering::Relaxed);
            }
        }
        progress
    }
}

/// Whether the user wants to end early; asked many times a second.
pub type Stop<'a> = &'a dyn Fn() -> bool;

/// Runs a plan until its end, or until `stop`. `on_second` gets the progress about once a second.
///
/// # Errors
///
/// See [`Failure`]. Errors of the server during the measurement are no failure: the report counts them.
pub fn run(plan: &Plan, stop: Stop<'_>, on_second: &mut dyn FnMut(Progress)) -> Result<Report, Failure> {
    Known::learn(plan)?.measure(plan, stop, on_second)
}

/// Knowledge from before the measurement.
pub(crate) struct Known {
    /// The requests with their right answers.
    learnt: Vec<Learnt>,
    /// Requests a second that this program can do by itself.
    ceiling_rate: f64,
}

impl Known {
    /// Asks the server, and calibrates.
    ///
    /// # Errors
    ///
    /// See [`Failure`].
    pub(crate) fn learn(plan: &Plan) -> Result<Self, Failure> {
        plan.check().map_err(Failure::Plan)?;
        process::raise_descriptors_max();
        let learnt = learn(plan).map_err(Failure::Refused)?;
        let ceiling_rate = calibrate(plan, &learnt).map_err(refused)?;
        Ok(Self { learnt, ceiling_rate })
    }

    /// Measures a plan that may differ only in load and length from the plan that was given to [`learn`](Self::learn).
    ///
    /// # Errors
    ///
    /// Hits are not counted, or the kernel refuses.
    pub(crate) fn measure(
        &self,
        plan: &Plan,
        stop: Stop<'_>,
        on_second: &mut dyn FnMut(Progress),
    ) -> Result<Report, Failure> {
        let server = Server::find(&plan.url.address);
        let counter = plan.count_hits.then(|| Counter::find(plan, &server)).transpose();
        let counter = counter.map_err(Failure::Refused)?;
        let ask_hits =
            || counter.as_ref().map(|counter| counter.ask(plan)).transpose().map_err(Failure::Refused);
        let hits_before = ask_hits()?;
        let loaded = load(plan, &self.learnt, &server, stop, on_second).map_err(refused)?;
        let hits_seen = hits_before.zip(ask_hits()?);
        let hits_seen = hits_seen.map(|(before, after)| after.since(&before, &loaded.tally, &loaded.slow));
        // A disturbed calibration gives too low a ceiling, so the cost of each request of the load is taken if it is
        // lower.
        let ceiling_rate = self.ceiling_rate.max(ceiling(&loaded.tally, plan.threads, plan.threads));
        let observed = Observed { ceiling_rate, ..loaded.observed };
        let mut report = Report::new(plan, &self.learnt, loaded.tally, &observed);
        (report.slow, report.hits) = (loaded.slow, hits_seen);
        report.judge(&plan.accepted);
        Ok(report)
    }
}

#[expect(clippy::needless_pass_by_value, reason = "what map_err gives")]
fn refused(error: io::Error) -> Failure {
    Failure::Refused(format!("the kernel refuses: {error}"))
}

/// Returns how many requests of the plan this program can send and check in a second.
fn calibrate(plan: &Plan, all: &[Learnt]) -> io::Result<f64> {
    let null = NullResponder::new()?;
    let several;
    let learnt = if all.len() == 1 {
        all
    } else {
        several = [mean(all)];
        &several
    };
    let one = &learnt[0];
    let mut easy = plan.clone();
    easy.url_list.clear();
    easy.slow = Slow::default();
    easy.url.address = Address::Tcp(null.address);
    (easy.threads, easy.connections, easy.load) = (1, plan.connections.min(64), Load::Closed);
    (easy.until, easy.warm_up_ms) = (Until::Duration(CALIBRATION_MS), CALIBRATION_WARM_UP_MS);
    let (done, answers) = (AtomicBool::new(false), Answers::new(one, plan.pipeline as usize));
    let loaded = thread::scope(|scope| {
        let responder = scope.spawn(|| null.serve(one.request_bytes, &answers, &done));
        let loaded = load(&easy, learnt, &Server::default(), &|| false, &mut |_| {});
        done.store(true, Ordering::Relaxed);
        let served =
            responder.join().unwrap_or_else(|_| Err(io::Error::other("the null responder panicked")));
        served.and(loaded)
    })?;
    Ok(ceiling(&loaded.tally, easy.threads, plan.threads))
}

/// Returns the requests a second that `threads` threads can do, from the CPU time that a request cost when `loaded`
/// threads ran; threads beyond the number of CPUs add nothing.
fn ceiling(tally: &Tally, loaded: u32, threads: u32) -> f64 {
    #[expect(clippy::cast_precision_loss, reason = "counts far below 2⁵³")]
    let rate = tally.counts.settled() as f64 * 1e6 / tally.cpu_us.max(1) as f64;
    // The number of CPUs on which this process may run, within the quota of its control group, rounded down.
    let cpus = thread::available_parallelism()
        .map_or(u32::MAX, |cpus| u32::try_from(cpus.get()).unwrap_or(u32::MAX));
    rate / f64::from(loaded) * f64::from(threads.min(cpus))
}

/// The results of a load.
struct Loaded {
    tally: Tally,
    observed: Observed,
    slow: Vec<SlowSide>,
}

/// Loads the server with as many threads as the plan wants, and watches the server and the machine during the load.
fn load(
    plan: &Plan,
    learnt: &[Learnt],
    server: &Server,
    stop: Stop<'_>,
    on_second: &mut dyn FnMut(Progress),
) -> io::Result<Loaded> {
    // Drops count from before the warm-up: connections that are made then are also used by the measurement.
    let queues = Queues::now(server);
    let start_ns = clock::monotonic_ns() + plan.warm_up_ms * 1_000_000;
    let longest_ms = match plan.until {
        Until::Duration(ms) => ms,
        Until::Requests(_) => LONGEST_MS,
    };
    let shared = Shared {
        plan,
        learnt,
        start_ns,
        end_ns: start_ns + longest_ms * 1_000_000,
        tickets: AtomicU64::new(0),
        stop: AtomicBool::new(false),
        progress: (0..plan.threads).map(|_| Counted::default()).collect(),
    };
    let generators: io::Result<Vec<_>> =
        (0..plan.threads as usize).map(|thread| Generator::new(&shared, thread)).collect();
    let (generators, ended) = (generators?, AtomicBool::new(false));
    thread::scope(|scope| {
        let slow = (plan.slow.kinds() != Slow::default().kinds())
            .then(|| scope.spawn(|| slow::drive(plan, learnt, &ended)));
        let threads: Vec<_> =
            generators.into_iter().map(|generator| scope.spawn(move || generator.drive())).collect();
        let is_done = || threads.iter().all(thread::ScopedJoinHandle::is_finished);
        let observed = watch(&shared, server, stop, on_second, &is_done);
        // Threads that are not joined yet still hold their connections, so the server's memory was measured with open
        // connections.
        let tallies: Vec<_> = threads.into_iter().map(thread::ScopedJoinHandle::join).collect();
        ended.store(true, Ordering::Relaxed);
        let slow = slow.map_or(Ok(Vec::new()), thread::ScopedJoinHandle::join);
        let panicked = |_| io::Error::other("a thread of the load panicked");
        let mut tally = Tally::new(start_ns, plan, 0);
        for thread in tallies {
            tally.merge(thread.map_err(panicked)??.0);
        }
        // The length is taken from the threads, because the last look at the server comes a moment after the end.
        let elapsed_ns = tally.ended_ns.saturating_sub(start_ns);
        tally.fill_series(elapsed_ns);
        let dropped = Queues::now(server).since(&queues);
        let shares_cpus = server.shares_cpus() || (plan.url.is_local() && !server.is_known());
        let observed = Observed { elapsed_ns, dropped, shares_cpus, ..observed };
        Ok(Loaded { tally, observed, slow: slow.map_err(panicked)? })
    })
}

/// The resources that server and machine have used until some moment.
struct Moment {
    ns: u64,
    used: Option<Used>,
    ticks: Option<Ticks>,
    own_us: Option<u64>,
}

impl Moment {
    fn now(server: &Server) -> Self {
        Self { ns: clock::monotonic_ns(), used: server.used(), ticks: Ticks::now(), own_us: own_cpu_us() }
    }

    /// Returns what was used since `before`.
    fn since(&self, before: &Self, server: &Server) -> Observed {
        let used = self.used.zip(before.used);
        Observed {
            watched_ns: self.ns.saturating_sub(before.ns),
            server_cpu_us: used.map(|(now, then)| now.cpu_us.saturating_sub(then.cpu_us)),
            server: self.used.filter(|_| server.is_known()),
            own_cpu_us: self.own_us.zip(before.own_us).map(|(now, then)| now.saturating_sub(then)),
            ticks: self.ticks.zip(before.ticks).map(|(now, then)| now.since(&then)),
            ..Observed::default()
        }
    }
}

/// Looks at the server and the machine when the measurement begins and when it ends, and tells the progress.
fn watch(
    shared: &Shared<'_>,
    server: &Server,
    stop: Stop<'_>,
    on_second: &mut dyn FnMut(Progress),
    is_done: &dyn Fn() -> bool,
) -> Observed {
    let mut before = None;
    let mut told_s = i64::MIN;
    while !is_done() {
        if stop() {
            shared.stop.store(true, Ordering::Relaxed);
        }
        let now_ns = clock::monotonic_ns();
        if before.is_none() && now_ns >= shared.start_ns {
            before = Some(Moment::now(server));
        }
        #[expect(clippy::cast_precision_loss, reason = "nanoseconds of a day")]
        let seconds = now_ns.cast_signed().wrapping_sub(shared.start_ns.cast_signed()) as f64 / 1e9;
        #[expect(clippy::cast_possible_truncation, reason = "seconds of a day")]
        let whole_s = seconds.floor() as i64;
        if whole_s > told_s {
            told_s = whole_s;
            let looks = before.as_ref().filter(|_| !shared.plan.accepted.is_empty());
            let machine =
                looks.map(|before| MachineSide::new(shared.plan, &Moment::now(server).since(before, server)));
            let disturbed = machine.is_some_and(|machine| verdict::is_disturbed(&machine));
            on_second(Progress { disturbed, ..Progress::of(seconds, &shared.progress) });
        }
        // The sleep is short enough for the looks at the beginning and the end to be in time, and long enough to cost
        // nothing.
        let next_ns = if before.is_none() { shared.start_ns } else { shared.end_ns };
        let left_ns = next_ns.saturating_sub(clock::monotonic_ns()).clamp(100_000, 20_000_000);
        thread::sleep(Duration::from_nanos(left_ns));
    }
    let after = Moment::now(server);
    let before = before.unwrap_or_else(|| Moment::now(server));
    Observed { interrupted: shared.stop.load(Ordering::Relaxed), ..after.since(&before, server) }
}
#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used, reason = "an error here is a failed test")]

    use super::*;

    /// If two threads did 4,000 requests in a second of CPU time each, the ceiling of one thread must be 2,000 requests
    /// a second.
    #[test]
    fn ceilings() {
        let plan = Plan::new("http://127.0.0.1:8000/".parse().unwrap());
        let mut tally = Tally::new(0, &plan, 0);
        (tally.counts.right, tally.counts.timeout, tally.cpu_us) = (3_000, 1_000, 1_000_000);

        assert!((ceiling(&tally, 2, 1) - 2_000.0).abs() < 1e-6);
        assert!((ceiling(&tally, 4, 1) - 1_000.0).abs() < 1e-6);
        assert!(ceiling(&tally, 2, 1_000_000) < 2_000.0 * 1_000_000.0);
    }
}
