//! The highest rate at which a condition holds: an open loop at one rate after the other.

use serde::Serialize;

use crate::condition::Condition;
use crate::latency::Latency;
use crate::plan::{Arrivals, Load, Plan, Until};
use crate::report::Report;
use crate::run::{Failure, Stop, run};
use crate::verdict::Reason;

/// How long the first look takes, which says where to search, in milliseconds.
const LOOK_MS: u64 = 2_000;

/// The search ends when the rate that holds and the one that does not are so close.
const CLOSE: f64 = 1.05;

/// Rates that are tried at most.
const STEPS_MAX: usize = 12;

/// What was found must hold once more; so often a little less is tried when it does not.
const CONFIRMATIONS_MAX: usize = 4;

/// Gates that say something of the server, and so of the rate; the others speak of this program and the machine.
const SERVERS_GATES: [&str; 5] = ["answers", "hits", "late", "listen-queue", "steady"];

/// Gates that say that a rate may have failed for want of something that is not the server's.
const OTHERS_GATES: [&str; 4] = ["generator", "own-limits", "steal", "foreign-load"];

/// A rate that may have failed so is tried so often.
const TRIES: usize = 2;

/// One rate that was tried.
#[derive(Clone, Debug, Serialize)]
pub struct Step {
    /// Requests a second that were due.
    pub rate: f64,
    /// Right answers a second.
    pub answered: f64,
    /// The times from when requests were due.
    pub response: Option<Latency>,
    /// The condition held, and every answer was right.
    pub held: bool,
    /// Gates that failed.
    pub gates: Vec<&'static str>,
    /// The same with why.
    pub reasons: Vec<Reason>,
}

/// What was found.
#[derive(Clone, Debug, Serialize)]
pub struct Found {
    /// Which shape this is: `adyton-bench-find/1`.
    pub schema: &'static str,
    /// The condition.
    pub condition: String,
    /// Right answers a second of the closed loop that said where to search.
    pub closed_loop_rate: f64,
    /// In the order in which they were tried.
    pub steps: Vec<Step>,
    /// The highest rate that held, and held once more; none when none did.
    pub rate: Option<f64>,
    /// Gates that say that the figure must not be used: those that failed when it held, and those for which a higher
    /// rate may have failed although the server could do it; those of [`Report::invalid`](crate::Report).
    pub invalid: Vec<&'static str>,
    /// The same with why: what was seen when each of them failed first.
    pub reasons: Vec<Reason>,
}

impl Found {
    /// Notes the gates of the last step, of these kinds.
    fn note(&mut self, kinds: impl Fn(&&str) -> bool) {
        let reasons = self.steps.last().map_or_else(Vec::new, |step| step.reasons.clone());
        for reason in reasons.into_iter().filter(|reason| kinds(&reason.gate)) {
            if !self.invalid.contains(&reason.gate) {
                self.invalid.push(reason.gate);
                self.reasons.push(reason);
            }
        }
    }

    /// As JSON, on several lines.
    ///
    /// # Errors
    ///
    /// None that is known: every field can be written.
    pub fn to_json(&self) -> serde_json::Result<String> {
        serde_json::to_string_pretty(self)
    }
}

/// Searches; `on_step` is told of each rate that was tried.
///
/// # Errors
///
/// As [`run`].
pub fn find_rate(
    plan: &Plan,
    condition: &Condition,
    stop: Stop<'_>,
    on_step: &mut dyn FnMut(&Step),
) -> Result<Found, Failure> {
    let mut look = plan.clone();
    (look.load, look.until) = (Load::Closed, Until::Duration(LOOK_MS));
    let capacity = run(&look, stop, &mut |_| {})?.rate;
    let found = Found {
        schema: "adyton-bench-find/1",
        condition: condition.to_string(),
        closed_loop_rate: capacity,
        steps: Vec::new(),
        rate: None,
        invalid: Vec::new(),
        reasons: Vec::new(),
    };
    let mut search = Search { plan, condition, stop, on_step, found };
    // The closed loop's rate may be out of reach, or not the highest: it had only so many connections.
    let (mut low, mut high) = (0.0, capacity * 2.0);
    let mut rate = capacity / 2.0;
    while search.found.steps.len() < STEPS_MAX && rate >= 1.0 && !stop() {
        if search.attempts(rate)? {
            low = rate;
            search.found.rate = Some(rate);
        } else {
            high = rate;
        }
        if low > 0.0 && high / low < CLOSE {
            break;
        }
        rate = if low > 0.0 { (low * high).sqrt() } else { high / 2.0 };
    }
    for _ in 0..CONFIRMATIONS_MAX {
        let Some(rate) = search.found.rate else { break };
        if search.attempt(rate)? {
            search.found.note(|_| true);
            return Ok(search.found);
        }
        search.found.rate = Some(rate / CLOSE);
    }
    search.found.rate = None;
    Ok(search.found)
}

/// What is tried, and what was found so far.
struct Search<'a> {
    plan: &'a Plan,
    condition: &'a Condition,
    stop: Stop<'a>,
    on_step: &'a mut dyn FnMut(&Step),
    found: Found,
}

impl Search<'_> {
    /// Tries one rate, and again if it may not be the server that failed. If that is so once more, the search goes on,
    /// and what it finds is invalid: the rate is the limit of something else.
    fn attempts(&mut self, rate: f64) -> Result<bool, Failure> {
        for _ in 0..TRIES {
            if self.attempt(rate)? {
                return Ok(true);
            }
            if !self.found.steps.last().is_some_and(Step::may_be_others) {
                return Ok(false);
            }
        }
        self.found.note(|gate| OTHERS_GATES.contains(gate));
        Ok(false)
    }

    /// Tries one rate.
    fn attempt(&mut self, rate: f64) -> Result<bool, Failure> {
        let mut at_rate = self.plan.clone();
        let arrivals = match self.plan.load {
            Load::Open { arrivals, .. } => arrivals,
            Load::Closed => Arrivals::Constant,
        };
        at_rate.load = Load::Open { rate, arrivals };
        let report = run(&at_rate, self.stop, &mut |_| {})?;
        let tried = Step::new(rate, self.condition, &report);
        (self.on_step)(&tried);
        let held = tried.held;
        self.found.steps.push(tried);
        Ok(held)
    }
}

impl Step {
    fn new(rate: f64, condition: &Condition, report: &Report) -> Self {
        let gates: Vec<&'static str> = report.invalid.iter().map(|reason| reason.gate).collect();
        let is_right = !gates.iter().any(|gate| SERVERS_GATES.contains(gate));
        let held = is_right && condition.holds(report) == Some(true);
        let reasons = report.invalid.clone();
        Self { rate, answered: report.rate, response: report.response, held, gates, reasons }
    }

    /// Whether it may have failed for want of something that is not the server's.
    fn may_be_others(&self) -> bool {
        self.gates.iter().any(|gate| OTHERS_GATES.contains(gate))
    }
}
