//! `Accept-Encoding` and `Accept`: which form of a file a client takes (RFC 9110 section 12.5).

/// How a file lies on the disk: as it is, or compressed beforehand beside it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Coding {
    /// Brotli (RFC 7932), `name.br`.
    Br,
    /// Zstandard (RFC 8878), `name.zst`.
    Zstd,
    /// Gzip (RFC 1952), `name.gz`.
    Gzip,
    /// The file itself.
    Identity,
}

/// The codings that a neighbour file may have; the first wins where a client likes several equally.
pub const CODINGS: [Coding; 3] = [Coding::Br, Coding::Zstd, Coding::Gzip];

/// A weight of 1; weights count in thousandths (RFC 9110 section 12.4.2).
const FULL: u16 = 1000;

impl Coding {
    /// The name in `Accept-Encoding` and `Content-Encoding`.
    pub fn token(self) -> &'static str {
        match self {
            Coding::Br => "br",
            Coding::Zstd => "zstd",
            Coding::Gzip => "gzip",
            Coding::Identity => "identity",
        }
    }

    /// What the neighbour's name adds to the file's.
    pub fn suffix(self) -> &'static str {
        match self {
            Coding::Br => ".br",
            Coding::Zstd => ".zst",
            Coding::Gzip => ".gz",
            Coding::Identity => "",
        }
    }

    fn is_called(self, token: &[u8]) -> bool {
        // RFC 9110 section 8.4.1.3: `x-gzip` is equivalent to `gzip`.
        token.eq_ignore_ascii_case(self.token().as_bytes())
            || (self == Coding::Gzip && token.eq_ignore_ascii_case(b"x-gzip"))
    }
}

/// The coding to answer with, out of those that `is_there` and the file itself.
///
/// `lines` are the values of all `Accept-Encoding` fields; without any the file itself is chosen.
/// `None` when the client refuses every form, the file itself included (`identity;q=0`): answer 406.
pub fn choose_coding(lines: &[&[u8]], is_there: impl Fn(Coding) -> bool) -> Option<Coding> {
    let weights = |coding: Coding| {
        let named = find_weight(lines, |token| coding.is_called(token));
        named.or_else(|| find_weight(lines, |token| token == b"*"))
    };
    let mut best = None;
    for coding in CODINGS.into_iter().filter(|&coding| is_there(coding)) {
        let weight = weights(coding).unwrap_or(0);
        if weight > 0 && best.is_none_or(|(_, highest)| weight > highest) {
            best = Some((coding, weight));
        }
    }
    match (weights(Coding::Identity), best) {
        (Some(0), best) => best.map(|(coding, _)| coding),
        (Some(weight), Some((_, highest))) if weight > highest => Some(Coding::Identity),
        // Not mentioned, the file itself is acceptable but not preferred.
        (_, Some((coding, _))) => Some(coding),
        (_, None) => Some(Coding::Identity),
    }
}

/// Whether a client takes HTML, by the most specific range that matches (RFC 9110 section 12.5.1).
/// `lines` are the values of all `Accept` fields; without any the client takes everything.
pub fn accepts_html(lines: &[&[u8]]) -> bool {
    if lines.is_empty() {
        return true;
    }
    [&b"text/html"[..], b"text/*", b"*/*"]
        .into_iter()
        .find_map(|range| find_weight(lines, |token| token.eq_ignore_ascii_case(range)))
        .is_some_and(|weight| weight > 0)
}

/// The weight of the first list element whose name `is_it`, in thousandths.
fn find_weight(lines: &[&[u8]], is_it: impl Fn(&[u8]) -> bool) -> Option<u16> {
    lines.iter().flat_map(|line| line.split(|&byte| byte == b',')).find_map(|element| {
        let mut parts = element.split(|&byte| byte == b';').map(<[u8]>::trim_ascii);
        let name = parts.next()?;
        is_it(name).then(|| parts.find_map(weight).unwrap_or(FULL))
    })
}

/// The value of a parameter `q`; a malformed one counts as 0, since the client meant a reservation.
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
