//! Numbers: as floats to reckon with, and as people read them.

/// Converts a number that a float holds exactly.
#[expect(clippy::cast_precision_loss, reason = "counts and times far below 2⁵³")]
pub(crate) fn float(number: u64) -> f64 {
    number as f64
}

/// Shows a number without its fraction, in groups of three digits; a number below 1,000 keeps one digit behind the
/// point.
pub fn grouped(number: f64) -> String {
    if number < 1000.0 {
        return format!("{number:.1}");
    }
    grouped_whole(number)
}

/// Shows a number without its fraction, in groups of three digits.
pub fn grouped_whole(number: f64) -> String {
    in_groups(&format!("{number:.0}"))
}

/// Splits digits in groups of three.
fn in_groups(digits: &str) -> String {
    let mut out = String::new();
    for (index, digit) in digits.chars().enumerate() {
        if index > 0 && (digits.len() - index).is_multiple_of(3) {
            out.push(',');
        }
        out.push(digit);
    }
    out
}

/// Shows a time in milliseconds, always with three digits behind the point, so that all line up.
pub(crate) fn ms(us: f64) -> String {
    let text = format!("{:.3}", us / 1e3);
    text.split_once('.').map_or_else(|| text.clone(), |(whole, part)| format!("{}.{part}", in_groups(whole)))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn groups_of_three() {
        let expected = ["12.5", "1,000", "123,457", "1,234,567"];

        assert_eq!(
            expected,
            [12.5, 1000.0, 123_456.7, 1_234_567.0].map(grouped).each_ref().map(String::as_str)
        );
        assert_eq!(
            ["0.014", "999.500", "3,600,000.000"],
            [14.0, 999_500.0, 3.6e9].map(ms).each_ref().map(String::as_str)
        );
    }
}
