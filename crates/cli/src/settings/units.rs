//! Numbers as people write them: `64k`, `30s`, `500/s`, and back.

/// How a number is written.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Unit {
    /// A plain count.
    Count,
    /// Bytes; `k`, `m` and `g` are powers of 1024.
    Bytes,
    /// Milliseconds inside, written `500ms`, `30s`, `2m` or `1h`; a bare number is seconds.
    Duration,
    /// Bytes per second, written as bytes; a `/s` behind it is allowed.
    Rate,
}

type Scale = (&'static str, u64);

// In each list the scales ascend, and of equal scales the one without a letter is first: `show` takes the
// last scale that divides the number.
const COUNT: &[Scale] = &[("", 1)];
const BYTES: &[Scale] = &[("", 1), ("k", 1 << 10), ("m", 1 << 20), ("g", 1 << 30)];
const DURATION: &[Scale] = &[("ms", 1), ("", 1_000), ("s", 1_000), ("m", 60_000), ("h", 3_600_000)];

/// Digits behind the point: with the largest scale, the product stays far below 2⁶⁴.
const FRACTION_DIGITS_MAX: usize = 6;

/// Returns the text if it is digits only: the standard library also reads `+80`, in every base.
pub(crate) fn digits(text: &str) -> Option<&str> {
    text.bytes().all(|byte| byte.is_ascii_digit()).then_some(text)
}

/// Reads the rights of files, as chmod(1) takes them.
pub(crate) fn octal(text: &str, example: &str) -> Result<u32, String> {
    match digits(text).map(|text| u32::from_str_radix(text, 8)) {
        Some(Ok(bits)) if bits <= 0o777 => Ok(bits),
        _ => Err(format!("write three octal digits, as in {example}")),
    }
}

impl Unit {
    /// Reads a number; returns `None` if it is malformed, too large, or not whole in the smallest unit.
    pub fn parse(self, text: &str) -> Option<u64> {
        let text = if self == Unit::Rate { text.strip_suffix("/s").unwrap_or(text) } else { text };
        let end = text.find(|c: char| !c.is_ascii_digit() && c != '.').unwrap_or(text.len());
        let (number, suffix) = text.split_at(end);
        let &(_, scale) = self.scales().iter().find(|(name, _)| name.eq_ignore_ascii_case(suffix))?;
        let (whole, fraction) = number.split_once('.').unwrap_or((number, "0"));
        if fraction.len() > FRACTION_DIGITS_MAX {
            return None;
        }
        let parts = fraction.bytes().fold(1, |product, _| product * 10);
        let fraction = fraction.parse::<u64>().ok()? * scale;
        if fraction % parts != 0 {
            return None;
        }
        whole.parse::<u64>().ok()?.checked_mul(scale)?.checked_add(fraction / parts)
    }

    /// Writes a number in the largest unit that holds it whole; [`Unit::parse`] reads it back.
    pub fn show(self, number: u64) -> String {
        let fitting = self.scales().iter().rfind(|(_, scale)| number.is_multiple_of(*scale));
        match fitting {
            Some((suffix, scale)) if number != 0 => format!("{}{suffix}", number / scale),
            _ => number.to_string(),
        }
    }

    /// Returns the placeholder for such a number in the help.
    pub fn shape(self) -> &'static str {
        match self {
            Unit::Count => "N",
            Unit::Bytes => "BYTES",
            Unit::Duration => "TIME",
            Unit::Rate => "RATE",
        }
    }

    /// Returns what to write in the place of an unreadable text.
    pub(crate) fn wanted(self) -> &'static str {
        match self {
            Unit::Count => "write a whole number",
            Unit::Bytes => "write bytes as 65536, 64k, 1m or 1g",
            Unit::Duration => "write a time as 500ms, 30s, 2m or 1h",
            Unit::Rate => "write bytes per second as 500 or 2k",
        }
    }

    fn scales(self) -> &'static [Scale] {
        match self {
            Unit::Count => COUNT,
            Unit::Bytes | Unit::Rate => BYTES,
            Unit::Duration => DURATION,
        }
    }
}
