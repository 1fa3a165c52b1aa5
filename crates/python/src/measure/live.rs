//! The line on a terminal that shows how far a measurement is.

use std::io::Write as _;

use adyton_bench::{Doublings, Progress, Until, grouped_whole};
use adyton_sys::terminal::Size;

/// The live line; empty where standard error is no terminal.
pub(super) struct Live {
    shown: bool,
    until: Until,
    /// The progress that was shown last; `None` before the measurement begins.
    last: Option<Progress>,
}

/// Heights of a bar, from empty to full.
const BARS: [char; 9] = [' ', '▁', '▂', '▃', '▄', '▅', '▆', '▇', '█'];

impl Live {
    pub(super) fn new(shown: bool, until: Until) -> Self {
        Self { shown, until, last: None }
    }

    /// Shows the progress, and the rate and the times of the last second, cut to the terminal's present width.
    pub(super) fn show(&mut self, now: Progress) {
        if !self.shown {
            return;
        }
        let line: String = self.line(now).chars().take(Size::of_stderr().columns).collect();
        eprint!("\r\x1b[K{line}");
        // A failed flush loses nothing but this line.
        let _ = std::io::stderr().flush();
    }

    pub(super) fn clear(&self) {
        if self.shown {
            eprint!("\r\x1b[K");
        }
    }

    fn line(&mut self, now: Progress) -> String {
        if now.seconds < 0.0 {
            return format!("warm-up, {:.0} s left", -now.seconds);
        }
        let how_far = self.how_far(&now);
        // Before the first second is over, there is no rate to show.
        let Some(last) = self.last.replace(now) else { return how_far };
        let rate = float(now.right - last.right) / (now.seconds - last.seconds).max(0.001);
        let mut since = now.doublings;
        since.iter_mut().zip(last.doublings).for_each(|(count, before)| *count -= before);
        let wrong = if now.wrong > 0 { format!("  {} wrong", count(now.wrong)) } else { String::new() };
        let (rate, right) = (grouped_whole(rate), count(now.right));
        let mark = if now.disturbed { "  DISTURBED" } else { "" };
        format!("{how_far}  {rate:>7} requests/s{mark}{wrong}  {}  {right} right", histogram(&since))
    }

    /// The seconds or the requests so far, and their total: `2 of 10 s`, `1,200 of 10,000`.
    fn how_far(&self, now: &Progress) -> String {
        let (done, all, unit) = match self.until {
            Until::Duration(ms) => {
                (format!("{:.0}", now.seconds.floor()), (float(ms) / 1e3).to_string(), " s")
            }
            Until::Requests(all) => (count(now.right + now.wrong), count(all), ""),
        };
        format!("{done:>width$} of {all}{unit}", width = all.len())
    }
}

fn count(number: u64) -> String {
    grouped_whole(float(number))
}

#[expect(clippy::cast_precision_loss, reason = "for people")]
fn float(number: u64) -> f64 {
    number as f64
}

/// The times as bars, with the times at both ends: `128 us ▁▄█▂ 2 ms`. Each bar is for times of up to twice the time of
/// the bar before.
fn histogram(counts: &Doublings) -> String {
    let taken = |count: &u64| *count > 0;
    let (Some(first), Some(last)) = (counts.iter().position(taken), counts.iter().rposition(taken)) else {
        return "no answer".to_owned();
    };
    let most = counts.iter().copied().max().unwrap_or(1);
    // A count above zero gets at least the lowest bar: users look for the few slow answers.
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

    fn progress(seconds: f64, right: u64) -> Progress {
        let mut doublings = Doublings::default();
        doublings[10] = right;
        Progress { seconds, right, wrong: 0, doublings, disturbed: false }
    }

    #[test]
    fn bars_stand_for_doublings() {
        let mut counts = Doublings::default();
        (counts[8], counts[9], counts[11]) = (4, 8, 1);

        assert_eq!("128 us ▄█ ▁ 2 ms", histogram(&counts));
        assert_eq!("no answer", histogram(&Doublings::default()));
    }

    /// The first moment shows no rate.
    #[test]
    fn how_far_it_is() {
        let mut live = Live::new(true, Until::Duration(10_000));
        assert_eq!("warm-up, 2 s left", live.line(progress(-1.999, 0)));
        assert_eq!(" 0 of 10 s", live.line(progress(0.001, 3)));
        assert_eq!(
            " 1 of 10 s    1,200 requests/s  512 us █ 1 ms  1,203 right",
            live.line(progress(1.001, 1_203))
        );
        let disturbed = Progress { disturbed: true, ..progress(2.001, 2_403) };
        assert_eq!(
            " 2 of 10 s    1,200 requests/s  DISTURBED  512 us █ 1 ms  2,403 right",
            live.line(disturbed)
        );
        let mut live = Live::new(true, Until::Requests(10_000));
        assert_eq!("     3 of 10,000", live.line(progress(0.001, 3)));
        let now = Progress { wrong: 7, ..progress(1.001, 1_203) };
        assert_eq!(
            " 1,210 of 10,000    1,200 requests/s  7 wrong  512 us █ 1 ms  1,203 right",
            live.line(now)
        );
        assert_eq!("0 of 1.5 s", Live::new(true, Until::Duration(1_500)).line(progress(0.0, 0)).trim_start());
    }
}
