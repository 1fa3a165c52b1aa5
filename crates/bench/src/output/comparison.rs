//! A report beside an earlier one, and a search for a rate, for people.

use super::lines::{aligned, entry, grid};
use super::texts::UNTOLD;
use crate::counting::latency::{column, told as told_of};
use crate::find::Step;
use crate::report::baseline::{Comparison, Unit};
use crate::report::numbers::{grouped, ms};
use crate::report::reason::Reason;

/// Note below the ratios: a run gives only one value of each percentile, which does not tell how much the percentile
/// varies from run to run.
pub(crate) const ONE_RUN: &str = "the other ratios are of one run each, and may be noise";

/// Returns the comparison as a table, and its conclusion.
pub fn compared(comparison: &Comparison, columns: usize) -> String {
    let rows = comparison_rows(comparison);
    // A column has several units, but times below one another read best when their decimal points line up.
    let [name, before, now, ratio] =
        [0, 1, 2, 3].map(|column| rows.iter().map(move |row| row[column].clone()));
    let [before, now] = [before.collect(), now.collect()].map(aligned);
    let mut table = vec![["", "before", "now", "ratio"].map(str::to_owned).to_vec()];
    for (((name, before), now), ratio) in name.zip(before).zip(now).zip(ratio) {
        table.push(vec![name, before, now, ratio]);
    }
    let table = grid(&table, 0).join("\n");
    format!("\n{table}\n{}{}", entry("", 0, &told(comparison), columns), entry("", 0, ONE_RUN, columns))
}

/// Returns for each figure its name, its earlier value, its value now, and the ratio.
pub(crate) fn comparison_rows(comparison: &Comparison) -> Vec<[String; 4]> {
    let row = |row: &crate::Row| {
        let [before, now] = [row.before, row.now].map(|figure| match row.unit {
            Unit::PerSecond => grouped(figure),
            Unit::Ms => ms(figure),
            Unit::Us => format!("{figure:.2}"),
        });
        [row.name.to_owned(), before, now, format!("{:.3}", row.ratio())]
    };
    comparison.rows.iter().map(row).collect()
}

/// Tells whether there is a difference, or that there were too few seconds to tell.
pub(crate) fn told(comparison: &Comparison) -> String {
    let what = comparison.judged;
    let mark = if comparison.is_disturbed { "DISTURBED, of one run or both: " } else { "" };
    let text = match comparison.between {
        None => "too few seconds to tell a difference from noise".to_owned(),
        Some((low, high)) if low <= 1.0 && high >= 1.0 => {
            format!("no difference in the {what} (ratio between {low:.3} and {high:.3})")
        }
        Some((low, high)) => format!("the {what} is between {low:.3} and {high:.3} times that of before"),
    };
    mark.to_owned() + &text
}

/// Heading of the lines of the rates that are tried.
pub const SEARCH_HEADING: &str = "  requests/s    answered    p50 ms    p99 ms      held\n";

/// Indent of the gates that explain why a rate has no figures.
const WHY_INDENT: usize = 14;

/// Returns the line of a rate that was tried: its figures, or INVALID in their place and the reasons below.
pub fn tried(step: &Step, columns: usize) -> String {
    let is_valid = step.reasons.is_empty();
    let (rate, held) = match (step.load, step.held) {
        // A closed loop has no due times, so it has no rate to show, and the condition on times does not apply to it.
        ("closed", _) => ("closed loop".to_owned(), "-"),
        (_, false) => (format!("{:.0}", step.rate), "no"),
        (_, true) => (format!("{:.0}", step.rate), if is_valid { "yes" } else { "even so" }),
    };
    if !is_valid {
        let why = reasons(&step.reasons, columns);
        return format!("{rate:>12}{:>12}{:>10}{:>10}{held:>10}\n{why}", "INVALID", "", "");
    }
    let [p50, p99] = ["p50", "p99"].map(|title| {
        let us = column(title).zip(step.response).and_then(|(column, times)| told_of(column, &times));
        us.map_or_else(|| UNTOLD.to_owned(), |us| format!("{:.3}", us / 1e3))
    });
    let mark = if step.disturbed.is_empty() { "" } else { "  DISTURBED" };
    format!("{rate:>12}{:>12.0}{p50:>10}{p99:>10}{held:>10}{mark}\n", step.answered)
}

/// Returns each reason with its gate, below a line of the search.
pub fn reasons(reasons: &[Reason], columns: usize) -> String {
    let each = |reason: &Reason| entry("", WHY_INDENT, &format!("{}: {}", reason.gate, reason.why), columns);
    reasons.iter().map(each).collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::report::baseline::Row;

    #[test]
    fn a_comparison_lines_up() {
        let row = |name, unit, before, now| Row { name, unit, before, now };
        let rows = vec![
            row("requests/s", Unit::PerSecond, 12_000.0, 393.7),
            row("p99 ms", Unit::Ms, 1_500_000.0, 750.0),
            row("CPU us", Unit::Us, 54.05, 108.1),
        ];
        let text = compared(&Comparison { rows, judged: "rate", between: None, is_disturbed: false }, 40);

        assert_eq!(
            [
                "",
                "                before      now  ratio",
                "requests/s  12,000      393.7    0.033",
                "p99 ms       1,500.000    0.750  0.001",
                "CPU us          54.05   108.10   2.000",
                "too few seconds to tell a difference",
                "from noise",
                "the other ratios are of one run each,",
                "and may be noise"
            ]
            .as_slice(),
            text.lines().collect::<Vec<_>>()
        );
    }

    #[test]
    fn reasons_of_a_search_fit() {
        let why = "the generator was 99 % busy, and measures itself; give it more threads (-t)".to_owned();
        let text = reasons(&[Reason { gate: "generator", why }], 60);

        assert_eq!(
            [
                "              generator: the generator was 99 % busy, and",
                "              measures itself; give it more threads (-t)"
            ]
            .as_slice(),
            text.lines().collect::<Vec<_>>()
        );
    }
}
