//! Evaluates `Accept`: whether a client wants an HTML page (RFC 9110 section 12.5.1).

use adyton_http::find_weight;

/// Whether a client accepts HTML, by the most specific media range that matches (RFC 9110 section 12.5.1).
/// `lines` are the values of all `Accept` fields; without such a field the client accepts everything.
pub fn accepts_html(lines: &[&[u8]]) -> bool {
    if lines.is_empty() {
        return true;
    }
    [&b"text/html"[..], b"text/*", b"*/*"]
        .into_iter()
        .find_map(|range| find_weight(lines, |token| token.eq_ignore_ascii_case(range)))
        .is_some_and(|weight| weight > 0)
}
