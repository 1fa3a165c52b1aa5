//! The highest rate at which a condition holds: an open loop at one rate after the other.

use serde::Serialize;

use crate::counting::latency::Latency;
use crate::failure::Failure;
use crate::plan::{Arrivals, Load, Plan, Until};
use crate::report::condition::Condition;
use crate::report::numbers::float;
use crate::report::reason::Reason;
use crate::report::whole::Report;
use crate::run::{Known, Stop};

/// Length of the closed loop that tells where to search, in milliseconds.
const LOOK_MS: u64 = 2_000;

/// The search ends when the rate that does not hold is less than this many times the rate that holds.
const CLOSE: f64 = 1.05;

/// The largest number of rates that are tried: a dozen halvings, which divide the rate by some thousands, and the rates
/// that then close in.
const RATES_MAX: usize = 16;

/// The lowest rate that is tried, in requests a second.
const RATE_MIN: f64 = 1.0;

/// The most tries to confirm the rate that was found: it must hold once more; otherwise, a slightly lower rate is
/// tried.
const CONFIRMATIONS_MAX: usize = 4;

/// Gates that judge the server, and thereby the rate; the other gates judge this program and the machine.
const SERVERS_GATES: [&str; 5] = ["answers", "hits", "late", "listen-queue", "steady"];

/// Gates whose failure means that a rate may have failed for a reason that is not the server.
const OTHERS_GATES: [&str; 4] = ["generator", "own-limits", "steal", "foreign-load"];

/// How often a rate is tried that may have failed for a reason that is not the server.
const TRIES: usize = 2;

/// One rate that was tried, or the closed loop that said where to search.
#[derive(Clone, Debug, Serialize)]
pub struct Step {
    /// `closed`, `constant` or `poisson`.
    pub load: &'static str,
    /// Requests a second that were due; in the closed loop, requests a second that had an outcome.
    pub rate: f64,
    /// Right answers a second.
    pub answered: f64,
    /// The times from when requests were due; `None` in a closed loop.
    pub response: Option<Latency>,
    /// Whether the condition held, and every answer was right.
    pub held: bool,
    /// Gates that failed.
    pub gates: Vec<&'static str>,
    /// Gates that failed and are accepted, with their reasons.
    pub disturbed: Vec<Reason>,
    /// Gates that failed, with their reasons.
    pub reasons: Vec<Reason>,
}

/// The result of a search.
#[derive(Clone, Debug, Serialize)]
pub struct Found {
    /// The name of this shape: `adyton-bench-find/1`.
    pub schema: &'static str,
    /// The condition, as the user gave it.
    pub condition: String,
    /// Right answers a second of the closed loop that said where to search.
    pub closed_loop_rate: f64,
    /// The closed loop itself.
    pub closed_loop: Step,
    /// Whether the user has ended the search: nothing is found then.
    pub interrupted: bool,
    /// Rates in the order in which they were tried.
    pub steps: Vec<Step>,
    /// The highest rate that held, and held once more; `None` when no rate did.
    pub rate: Option<f64>,
    /// Gates of [`Report::invalid`](crate::Report) whose failure forbids to use the figure: gates that failed while
    /// this rate held, and gates because of which a higher rate may have failed although the server could do it.
    pub invalid: Vec<&'static str>,
    /// The gates in `invalid` with their reasons: what was seen when each of them failed first.
    pub reasons: Vec<Reason>,
    /// Gates that failed in one of the two ways of `invalid` and are accepted: the server does at least this rate, and
    /// may do more when undisturbed.
    pub disturbed: Vec<Reason>,
}

impl Found {
    /// Notes the gates of the last step for which `kinds` returns true.
    fn note(&mut self, kinds: impl Fn(&&str) -> bool) {
        let Some(step) = self.steps.last() else { return };
        for reason in step.reasons.iter().filter(|reason| kinds(&reason.gate)) {
            if !self.invalid.contains(&reason.gate) {
                self.invalid.push(reason.gate);
                self.reasons.push(reason.clone());
            }
        }
        for reason in step.disturbed.iter().filter(|reason| kinds(&reason.gate)) {
            if !self.disturbed.iter().any(|known| known.gate == reason.gate) {
                self.disturbed.push(reason.clone());
            }
        }
    }

    /// Returns the result as JSON, on several lines.
    ///
    /// # Errors
    ///
    /// None that is known: every field can be written.
    pub fn to_json(&self) -> serde_json::Result<String> {
        serde_json::to_string_pretty(self)
    }
}

/// Searches for the rate; `on_step` is told of the closed loop and of each rate that was tried.
///
/// The right answer is learnt once, before any load: an error page that a server sends later is wrong.
///
/// # Errors
///
/// As [`run`](crate::run()).
pub fn find_rate(
    plan: &Plan,
    condition: &Condition,
    stop: Stop<'_>,
    on_step: &mut dyn FnMut(&Step),
) -> Result<Found, Failure> {
    let known = Known::learn(&at_rate(plan, RATE_MIN))?;
    let mut look = plan.clone();
    (look.load, look.until) = (Load::Closed, Until::Duration(LOOK_MS));
    let report = known.measure(&look, stop, &mut |_| {})?;
    let closed_loop = Step::new(condition, &report);
    on_step(&closed_loop);
    let found = Found {
        schema: "adyton-bench-find/1",
        condition: condition.to_string(),
        closed_loop_rate: report.rate,
        closed_loop,
        interrupted: false,
        steps: Vec::new(),
        rate: None,
        invalid: Vec::new(),
        reasons: Vec::new(),
        disturbed: Vec::new(),
    };
    let mut search = Search { plan, known, condition, stop, on_step, found };
    search.close_in()?;
    search.confirm()?;
    if stop() {
        (search.found.rate, search.found.interrupted) = (None, true);
    }
    Ok(search.found)
}

/// Returns the plan as an open loop at `rate`. A plan that is an open loop already keeps its arrivals.
fn at_rate(plan: &Plan, rate: f64) -> Plan {
    let arrivals = match plan.load {
        Load::Open { arrivals, .. } => arrivals,
        Load::Closed => Arrivals::Constant,
    };
    Plan { load: Load::Open { rate, arrivals }, ..plan.clone() }
}

/// A search under way: what it tries, and what it has found so far.
struct Search<'a> {
    plan: &'a Plan,
    known: Known,
    condition: &'a Condition,
    stop: Stop<'a>,
    on_step: &'a mut dyn FnMut(&Step),
    found: Found,
}

impl Search<'_> {
    /// Tries rates until one that holds and one that does not are close together.
    fn close_in(&mut self) -> Result<(), Failure> {
        // The closed loop's rate may be out of reach for an open loop, or it may not be the highest, because the closed
        // loop had only so many connections. The rate includes wrong answers: a server that refuses requests at this
        // rate may hold a lower one.
        let reached = self.found.closed_loop.rate;
        let (mut low, mut high) = (0.0, reached * 2.0);
        let mut rate = reached / 2.0;
        for _ in 0..RATES_MAX {
            if rate < RATE_MIN || (self.stop)() {
                break;
            }
            if self.attempts(rate)? {
                low = rate;
                self.found.rate = Some(rate);
            } else {
                high = rate;
            }
            if low > 0.0 && high / low < CLOSE {
                break;
            }
            rate = if low > 0.0 { (low * high).sqrt() } else { high / 2.0 };
        }
        Ok(())
    }

    /// Tries the rate that was found once more, and a slightly lower rate if it does not hold.
    fn confirm(&mut self) -> Result<(), Failure> {
        for _ in 0..CONFIRMATIONS_MAX {
            let Some(rate) = self.found.rate else { return Ok(()) };
            if self.attempt(rate)? {
                self.found.note(|_| true);
                return Ok(());
            }
            self.found.rate = Some(rate / CLOSE);
        }
        self.found.rate = None;
        Ok(())
    }

    /// Tries one rate, and tries it again if the server may not be the reason of the failure. If the second try fails
    /// likewise, the search goes on, but its result is invalid: something other than the server may have set the limit.
    fn attempts(&mut self, rate: f64) -> Result<bool, Failure> {
        for _ in 0..TRIES {
            if self.attempt(rate)? {
                return Ok(true);
            }
            if (self.stop)() || !self.found.steps.last().is_some_and(Step::may_be_others) {
                return Ok(false);
            }
        }
        self.found.note(|gate| OTHERS_GATES.contains(gate));
        Ok(false)
    }

    /// Tries one rate, and returns whether it held.
    fn attempt(&mut self, rate: f64) -> Result<bool, Failure> {
        let report = self.known.measure(&at_rate(self.plan, rate), self.stop, &mut |_| {})?;
        if report.interrupted {
            return Ok(false);
        }
        let tried = Step::new(self.condition, &report);
        (self.on_step)(&tried);
        let held = tried.held;
        self.found.steps.push(tried);
        Ok(held)
    }
}

impl Step {
    fn new(condition: &Condition, report: &Report) -> Self {
        let gates: Vec<&'static str> = report.invalid.iter().map(|reason| reason.gate).collect();
        let is_right = !gates.iter().any(|gate| SERVERS_GATES.contains(gate));
        let held = is_right && condition.holds(report) == Some(true);
        Self {
            load: report.asked.load,
            rate: report.asked.rate.unwrap_or_else(|| float(report.counts.settled()) / report.seconds),
            answered: report.rate,
            response: report.response,
            held,
            gates,
            disturbed: report.disturbed.clone(),
            reasons: report.invalid.clone(),
        }
    }

    /// Whether the rate may have failed for a reason that is not the server.
    fn may_be_others(&self) -> bool {
        !self.disturbed.is_empty() || self.gates.iter().any(|gate| OTHERS_GATES.contains(gate))
    }
}
