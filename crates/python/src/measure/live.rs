//! The line on a terminal that says how far a measurement is.

use std::io::Write as _;

use adyton_bench::{Doublings, Progress};

/// The line that changes; nothing where nobody looks.
pub(super) struct Live {
    shown: bool,
    last: Progress,
}

/// Heights of a bar, from nothing to all.
const BARS: [char; 9] = [' ', '▁', '▂', '▃', '▄', '▅', '▆', '▇', '█'];

impl Live {
    pub(super) fn new(shown: bool) -> Self {
        let last = Progress { seconds: 0.0, right: 0, wrong: 0, doublings: Doublings::default() };
        Self { shown, last }
    }

    /// Shows the rate and the times of the last second.
    pub(super) fn show(&mut self, now: Progress) {
        if !self.shown {
            return;
        }
        if now.seconds < 0.0 {
            eprint!("\r\x1b[Kwarm-up, {:.0} s left", -now.seconds);
        } else {
            #[expect(clippy::cast_precision_loss, reason = "a rate for people")]
            let rate = (now.right - self.last.right) as f64 / (now.seconds - self.last.seconds).max(0.001);
            let mut since = now.doublings;
            since.iter_mut().zip(self.last.doublings).for_each(|(count, before)| *count -= before);
            let Progress { seconds, right, wrong, .. } = now;
            let wrong = if wrong > 0 { format!("  {wrong} wrong") } else { String::new() };
            eprint!(
                "\r\x1b[K{seconds:4.0} s  {rate:9.0} requests/s  {}  {right} right{wrong}",
                histogram(&since)
            );
            self.last = now;
        }
        // Without it there is nothing to see, which is all that is lost.
        let _ = std::io::stderr().flush();
    }

    pub(super) fn clear(&self) {
        if self.shown {
            eprint!("\r\x1b[K");
        }
    }
}

/// The times as bars, each for up to twice the time of the one before, with the times at both ends: `128 us ▁▄█▂ 2 ms`.
fn histogram(counts: &Doublings) -> String {
    let taken = |count: &u64| *count > 0;
    let (Some(first), Some(last)) = (counts.iter().position(taken), counts.iter().rposition(taken)) else {
        return "no answer".to_owned();
    };
    let most = counts.iter().copied().max().unwrap_or(1);
    // At least the lowest bar for what is not nothing: a few slow answers are what one looks for.
    let height = |count: u64| usize::try_from((count * 8).div_ceil(most)).map_or(0, |height| height.min(8));
    let bars: String = counts[first..=last].iter().map(|count| BARS[height(*count)]).collect();
    format!("{} {bars} {}", time(first.saturating_sub(1)), time(last))
}

/// Two to this power, in microseconds.
fn time(power: usize) -> String {
    let us = 1_u64 << power;
    match us {
        0..1_000 => format!("{us} us"),
        1_000..1_000_000 => format!("{} ms", us / 1_000),
        _ => format!("{} s", us / 1_000_000),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn bars_stand_for_doublings() {
        let mut counts = Doublings::default();
        (counts[8], counts[9], counts[11]) = (4, 8, 1);

        assert_eq!("128 us ▄█ ▁ 2 ms", histogram(&counts));
        assert_eq!("no answer", histogram(&Doublings::default()));
    }
}
