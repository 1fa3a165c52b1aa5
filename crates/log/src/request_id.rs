//! The names of requests in all logs, and the name of the request that a thread serves.

use std::cell::RefCell;
use std::fmt;
use std::sync::Arc;

/// The longest id that is taken over from a client.
pub const GIVEN_BYTES_MAX: usize = 128;

/// The name of a request in all logs. Each call of the application is noted with a clone of the name, for its own
/// thread and for others, so a clone is cheap.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct RequestId {
    number: u64,
    /// Names from outside the server, if there are any.
    others: Option<Arc<Names>>,
}

#[derive(Debug, PartialEq, Eq)]
struct Names {
    /// The name that the client, or a proxy, has given the request.
    given: Option<Box<str>>,
    /// The trace that the request is part of.
    trace: Option<Box<str>>,
}

impl RequestId {
    /// The name of no request.
    pub const NONE: Self = Self { number: 0, others: None };

    /// Returns the server's own number of the request, which names the request if neither the client nor a proxy has
    /// named it.
    pub fn number(&self) -> u64 {
        self.number
    }

    /// Returns the trace that the request is part of: 32 hexadecimal digits (W3C Trace Context, section 3.2.2.3).
    pub fn trace(&self) -> Option<&str> {
        self.others.as_ref().and_then(|others| others.trace.as_deref())
    }

    /// Returns the name that the client, or a proxy, has given the request.
    pub fn given(&self) -> Option<&str> {
        self.others.as_ref().and_then(|others| others.given.as_deref())
    }
}

impl fmt::Display for RequestId {
    /// Writes the given name, or 16 hexadecimal digits.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.given() {
            Some(given) => f.write_str(given),
            None => write!(f, "{:016x}", self.number),
        }
    }
}

/// A maker of ids. All ids of one maker differ, and ids of makers with different seeds almost always differ.
#[derive(Debug)]
pub struct RequestIds {
    state: u64,
}

impl RequestIds {
    /// Makes a maker that begins at `seed`.
    pub fn new(seed: u64) -> Self {
        Self { state: seed }
    }

    /// Returns the next id. `given` is the value of the field that names the request, `traceparent` the value of the
    /// field of W3C Trace Context; a malformed value is ignored.
    #[inline]
    pub fn next(&mut self, given: Option<&[u8]>, traceparent: Option<&[u8]>) -> RequestId {
        // SplitMix64 (Steele, Lea, Flood 2014): a permutation, so no number comes twice.
        self.state = self.state.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mut number = self.state;
        number = (number ^ (number >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        number = (number ^ (number >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        number ^= number >> 31;
        let (given, trace) = (given.and_then(take_over), traceparent.and_then(trace_of));
        let others = (given.is_some() || trace.is_some()).then(|| Arc::new(Names { given, trace }));
        RequestId { number, others }
    }
}

/// Returns the id if it can stand in a log and in a field as it is; else `None`.
fn take_over(given: &[u8]) -> Option<Box<str>> {
    let is_plain = |byte: &u8| byte.is_ascii_alphanumeric() || b"-_.~+/=:@".contains(byte);
    let fits = (1..=GIVEN_BYTES_MAX).contains(&given.len()) && given.iter().all(is_plain);
    if fits { std::str::from_utf8(given).ok().map(Into::into) } else { None }
}

/// Returns the trace-id of `00-TRACE-PARENT-FLAGS`; later versions may have more behind it.
fn trace_of(traceparent: &[u8]) -> Option<Box<str>> {
    let is_hex = |part: &[u8]| part.iter().all(|byte| matches!(byte, b'0'..=b'9' | b'a'..=b'f'));
    let mut parts = traceparent.split(|&byte| byte == b'-');
    let (version, trace, parent, flags) = (parts.next()?, parts.next()?, parts.next()?, parts.next()?);
    let sizes = (version.len(), trace.len(), parent.len(), flags.len()) == (2, 32, 16, 2);
    let whole = version != b"00" || parts.next().is_none();
    let says = |part: &[u8]| is_hex(part) && part.iter().any(|&byte| byte != b'0');
    if sizes && whole && version != b"ff" && is_hex(version) && is_hex(flags) && says(trace) && says(parent) {
        std::str::from_utf8(trace).ok().map(Into::into)
    } else {
        None
    }
}

thread_local! {
    static CURRENT: RefCell<Option<RequestId>> = const { RefCell::new(None) };
}

/// Sets the request that this thread serves.
#[inline]
pub(crate) fn set_current(id: &RequestId) {
    CURRENT.with_borrow_mut(|current| *current = Some(id.clone()));
}

/// Notes that this thread serves no request.
#[inline]
pub(crate) fn clear_current() {
    CURRENT.with_borrow_mut(|current| *current = None);
}

/// Runs something with the id of the request that this thread serves.
pub(crate) fn with_current<R>(run: impl FnOnce(Option<&RequestId>) -> R) -> R {
    let mut run = Some(run);
    let found = CURRENT.try_with(|current| run.take().map(|run| run(current.borrow().as_ref())));
    // A thread that is ending serves no request.
    match (found, run) {
        (Ok(Some(made)), _) => made,
        (_, Some(run)) => run(None),
        _ => unreachable!("what has run has made something"),
    }
}

#[cfg(test)]
mod tests {
    use std::collections::HashSet;

    use super::*;

    #[test]
    fn ids_differ() {
        let (mut one, mut other) = (RequestIds::new(1), RequestIds::new(2));
        let ids: HashSet<String> = (0..10_000)
            .flat_map(|_| [one.next(None, None), other.next(None, None)])
            .map(|id| id.to_string())
            .collect();

        assert_eq!(20_000, ids.len());
        assert!(ids.iter().all(|id| id.len() == 16));
    }

    #[test]
    fn only_plain_ids_are_taken_over() {
        for (given, expected) in [
            (&b"a"[..], true),
            (b"6f9619ff-8b86-d011-b42d-00cf4fc964ff", true),
            (b"Root=1-67891233-abcdef012345678912345678", true),
            (&[b'x'; 128], true),
            (&[b'x'; 129], false),
            (b"", false),
            (b"a b", false),
            (b"a\"", false),
            (b"a\x1b[2J", false),
            ("é".as_bytes(), false),
        ] {
            let id = RequestIds::new(0).next(Some(given), None).to_string();

            assert_eq!(expected, id.as_bytes() == given, "{given:?}");
            assert_eq!(!expected, id == RequestIds::new(0).next(None, None).to_string(), "{given:?}");
        }
    }

    /// The examples of W3C Trace Context are read, and values that this standard does not allow are ignored.
    #[test]
    fn traces() {
        let (trace, parent) = ("4bf92f3577b34da6a3ce929d0e0e4736", "00f067aa0ba902b7");
        for (value, expected) in [
            (format!("00-{trace}-{parent}-01"), true),
            (format!("00-{trace}-{parent}-00"), true),
            (format!("cc-{trace}-{parent}-01-what-the-future-will-be-like"), true),
            (format!("00-{trace}-{parent}-01-more"), false),
            (format!("ff-{trace}-{parent}-01"), false),
            (format!("00-{}-{parent}-01", trace.to_uppercase()), false),
            (format!("00-{}-{parent}-01", "0".repeat(32)), false),
            (format!("00-{trace}-{}-01", "0".repeat(16)), false),
            (format!("00-{trace}-{parent}"), false),
            (format!("00-{trace}x-{parent}-01"), false),
            (String::new(), false),
        ] {
            let id = RequestIds::new(0).next(None, Some(value.as_bytes()));

            assert_eq!(expected.then_some(trace), id.trace(), "{value}");
        }
    }
}
