//! Weights, by which a client states its preferences (RFC 9110 section 12.4.2).

/// A weight of 1, as weights are counted in thousandths.
const FULL: u16 = 1000;

/// Returns the weight, in thousandths, of the first element for whose name `is_it` holds; `None` if there is no such
/// element.
///
/// `lines` are the values of all fields that hold the list, such as `br;q=0.8, gzip`. A malformed weight counts as 0:
/// the client wanted to state a reservation.
pub fn find_weight(lines: &[&[u8]], is_it: impl Fn(&[u8]) -> bool) -> Option<u16> {
    lines.iter().flat_map(|line| line.split(|&byte| byte == b',')).find_map(|element| {
        let mut parts = element.split(|&byte| byte == b';').map(<[u8]>::trim_ascii);
        let name = parts.next()?;
        is_it(name).then(|| parts.find_map(weight).unwrap_or(FULL))
    })
}

/// Returns the weight if the parameter is `q`.
fn weight(parameter: &[u8]) -> Option<u16> {
    let (name, value) = parameter.split_at_checked(2)?;
    if !name.eq_ignore_ascii_case(b"q=") {
        return None;
    }
    let (whole, fraction) = match value {
        [whole] => (whole, &b""[..]),
        [whole, b'.', fraction @ ..] if fraction.len() <= 3 => (whole, fraction),
        _ => return Some(0),
    };
    if !fraction.iter().all(u8::is_ascii_digit) {
        return Some(0);
    }
    let digit = |at: usize| fraction.get(at).map_or(0, |digit| u16::from(digit - b'0'));
    Some(match whole {
        b'0' => digit(0) * 100 + digit(1) * 10 + digit(2),
        b'1' if fraction.iter().all(|&digit| digit == b'0') => FULL,
        _ => 0,
    })
}
