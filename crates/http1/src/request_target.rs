//! The four forms of a request-target, RFC 9112 section 3.2.

use adyton_http::authority::{self, Authority};
use adyton_http::{Method, Span};

use crate::Refusal;

/// A request-target and its parts.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct RequestTarget {
    /// The target as it stands in the request line.
    pub(crate) whole: Span,
    /// The path, without the authority and the query; empty for an absolute-form without a path, and for CONNECT.
    pub(crate) path: Span,
    /// The query, after the first `?`.
    pub(crate) query: Span,
    /// The authority of an absolute-form or an authority-form.
    pub(crate) authority: Option<Span>,
}

impl RequestTarget {
    /// Splits `input[start..end]`, which holds only printable ASCII, into its parts.
    pub(crate) fn read(
        input: &[u8],
        start: usize,
        end: usize,
        method: Method,
    ) -> Result<RequestTarget, Refusal> {
        let target = &input[start..end];
        let whole = Span::new(start, end);
        let nothing = Span::new(end, end);
        if method == Method::Connect {
            return match authority::read(target) {
                Some(Authority::HostAndPort) => {
                    Ok(RequestTarget { whole, path: nothing, query: nothing, authority: Some(whole) })
                }
                _ => Err(BAD_CONNECT),
            };
        }
        match target {
            [b'/', ..] => {
                let (path, query) = split_path(input, start, end);
                Ok(RequestTarget { whole, path, query, authority: None })
            }
            b"*" if method == Method::Options => {
                Ok(RequestTarget { whole, path: whole, query: nothing, authority: None })
            }
            b"*" => Err(BAD_ASTERISK),
            _ => absolute(input, start, end),
        }
    }
}

/// Splits `http://authority/path?query` into its parts. Today clients send this form only to proxies, but every server
/// must accept it.
#[cold]
fn absolute(input: &[u8], start: usize, end: usize) -> Result<RequestTarget, Refusal> {
    let target = &input[start..end];
    let has = |scheme: &[u8]| target.get(..scheme.len()).is_some_and(|t| t.eq_ignore_ascii_case(scheme));
    let scheme = [&b"http://"[..], b"https://"].into_iter().find(|scheme| has(scheme)).ok_or(BAD_FORM)?;
    let from = start + scheme.len();
    let authority_bytes = input[from..end].iter().position(|&byte| byte == b'/' || byte == b'?');
    let path_start = authority_bytes.map_or(end, |n| from + n);
    authority::read(&input[from..path_start]).ok_or(BAD_AUTHORITY)?;
    let (path, query) = split_path(input, path_start, end);
    Ok(RequestTarget {
        whole: Span::new(start, end),
        path,
        query,
        authority: Some(Span::new(from, path_start)),
    })
}

/// Splits `input[start..end]` into path and query.
#[inline]
fn split_path(input: &[u8], start: usize, end: usize) -> (Span, Span) {
    match memchr::memchr(b'?', &input[start..end]) {
        Some(n) => (Span::new(start, start + n), Span::new(start + n + 1, end)),
        None => (Span::new(start, end), Span::new(end, end)),
    }
}

const BAD_FORM: Refusal = Refusal::bad("The request-target is neither a path nor an http or https URL.");
const BAD_ASTERISK: Refusal = Refusal::bad("The request-target * is for OPTIONS only.");
const BAD_AUTHORITY: Refusal = Refusal::bad("The authority in the request-target is not a host with a port.");
const BAD_CONNECT: Refusal = Refusal::bad("The target of CONNECT must be a host and a port.");
