//! Times, sizes and formats of logs of other servers, as Adyton writes them.

/// Returns a time of nginx (`1h30m`, `10d`, `500ms`, `60`) in seconds, or in milliseconds if it is not a whole number
/// of seconds.
pub(crate) fn time(text: &str) -> Option<String> {
    let (mut rest, mut ms) = (text, 0_u64);
    if rest.is_empty() {
        return None;
    }
    while !rest.is_empty() {
        let digits = rest.bytes().take_while(u8::is_ascii_digit).count();
        let number: u64 = rest[..digits].parse().ok()?;
        rest = &rest[digits..];
        let letters = rest.bytes().take_while(u8::is_ascii_alphabetic).count();
        let scale = match &rest[..letters] {
            "ms" => 1,
            "" | "s" => 1_000,
            "m" => 60_000,
            "h" => 3_600_000,
            "d" => DAY_MS,
            "w" => 7 * DAY_MS,
            "M" => 30 * DAY_MS,
            "y" => 365 * DAY_MS,
            _ => return None,
        };
        rest = rest[letters..].trim_start();
        ms = ms.checked_add(number.checked_mul(scale)?)?;
    }
    Some(shown_ms(ms))
}

/// Returns a time in the unit that people would write.
pub(super) fn shown_ms(ms: u64) -> String {
    if ms.is_multiple_of(1_000) { format!("{}s", ms / 1_000) } else { format!("{ms}ms") }
}

/// Returns the seconds of a time.
pub(crate) fn seconds(text: &str) -> Option<u64> {
    time(text)?.strip_suffix('s')?.parse().ok()
}

/// Returns a size (`10m`, `1G`, `4096`) in small letters; `None` if the text is not a size.
pub(crate) fn size(text: &str) -> Option<String> {
    let lower = text.to_ascii_lowercase();
    let digits = lower.strip_suffix(['k', 'm', 'g']).unwrap_or(&lower);
    let is_number = !digits.is_empty() && digits.bytes().all(|byte| byte.is_ascii_digit());
    is_number.then_some(lower)
}

/// Whether all atoms of an access log's format are known.
pub(crate) fn is_log_format(format: &str) -> bool {
    let mut rest = format;
    while let Some(at) = rest.find('%') {
        rest = &rest[at + 1..];
        let field = rest.strip_prefix('{').and_then(|rest| rest.split_once("}i"));
        if let Some((name, behind)) = field.filter(|(name, _)| !name.is_empty() && !name.contains(['}', '%']))
        {
            let _ = name;
            rest = behind;
        } else if let Some(behind) = rest.strip_prefix(">s") {
            rest = behind;
        } else if let Some(behind) = rest.strip_prefix(|sign: char| "halutrmUqHsbBDTPL%".contains(sign)) {
            rest = behind;
        } else {
            return false;
        }
    }
    true
}

const DAY_MS: u64 = 24 * 3_600_000;

#[cfg(test)]
mod tests {
    use super::{is_log_format, seconds, size, time};

    #[test]
    fn formats_of_logs() {
        let cases = [
            ("%h %>s \"%{User-Agent}i\" %%", true),
            ("%O", false),
            ("%{X}o", false),
            ("%", false),
            ("x", true),
        ];
        for (format, expected) in cases {
            assert_eq!(expected, is_log_format(format), "{format}");
        }
    }

    #[test]
    fn times_and_sizes() {
        let times = [
            ("60", Some("60s")),
            ("1h30m", Some("5400s")),
            ("500ms", Some("500ms")),
            ("1d", Some("86400s")),
            ("1w", Some("604800s")),
            ("", None),
            ("-1", None),
            ("1x", None),
            ("99999999999999999999", None),
        ];
        for (text, expected) in times {
            assert_eq!(expected.map(str::to_owned), time(text), "{text}");
        }
        assert_eq!([Some(86_400), None], [seconds("1d"), seconds("5ms")]);
        assert_eq!([Some("10m".to_owned()), None, None], [size("10M"), size("m"), size("1x")]);
    }
}
