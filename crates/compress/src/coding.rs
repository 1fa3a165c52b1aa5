//! Evaluates `Accept-Encoding`: which coding a client accepts (RFC 9110 section 12.5.3).

use adyton_http::find_weight;

/// A content coding.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Coding {
    /// Brotli (RFC 7932).
    Br,
    /// Zstandard (RFC 8878).
    Zstd,
    /// Gzip (RFC 1952).
    Gzip,
    /// No coding.
    Identity,
}

/// All codings that make content smaller, ordered by the size of the result, the smallest first.
pub const CODINGS: [Coding; 3] = [Coding::Br, Coding::Zstd, Coding::Gzip];

impl Coding {
    /// Returns the name in `Accept-Encoding` and `Content-Encoding`.
    pub fn token(self) -> &'static str {
        match self {
            Coding::Br => "br",
            Coding::Zstd => "zstd",
            Coding::Gzip => "gzip",
            Coding::Identity => "identity",
        }
    }

    /// Returns the ending that a precompressed file adds to the name of the original.
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

/// Chooses the coding of an answer: one of `there`, or [`Coding::Identity`].
///
/// If the client prefers several equally, the first of them is chosen. `lines` are the values of all `Accept-Encoding`
/// fields; without such a field, the answer is not coded. `None` if the client refuses every form, also the uncoded one
/// (`identity;q=0`).
pub fn choose_coding(lines: &[&[u8]], there: impl IntoIterator<Item = Coding>) -> Option<Coding> {
    let weights = |coding: Coding| {
        let named = find_weight(lines, |token| coding.is_called(token));
        named.or_else(|| find_weight(lines, |token| token == b"*"))
    };
    let mut best = None;
    for coding in there {
        let weight = weights(coding).unwrap_or(0);
        if weight > 0 && best.is_none_or(|(_, highest)| weight > highest) {
            best = Some((coding, weight));
        }
    }
    match (weights(Coding::Identity), best) {
        (Some(0), best) => best.map(|(coding, _)| coding),
        (Some(weight), Some((_, highest))) if weight > highest => Some(Coding::Identity),
        // An uncoded form that the client does not mention is acceptable but not preferred.
        (_, Some((coding, _))) => Some(coding),
        (_, None) => Some(Coding::Identity),
    }
}
