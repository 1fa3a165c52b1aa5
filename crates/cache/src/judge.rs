//! Decides which answers may be kept, and for how long (RFC 9111 sections 3 and 4.2).

use std::time::{Duration, UNIX_EPOCH};

use crate::Control;

/// The most names in `Vary`: with more of them, hardly any answer fits a second client.
const VARY_MAX: usize = 8;

/// A route's rules for keeping answers.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Rules {
    /// How long an answer is kept if it does not itself say how long.
    pub fresh_ms: u64,
    /// Whether answers that do not say how long they are fresh are kept for clients with cookies, too. The cache cannot
    /// know whether such an answer is the same for all these clients.
    pub with_cookies: bool,
}

/// How an answer may be used.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Terms {
    /// The age of the answer when it arrives.
    pub age_ms: u64,
    /// The age until which the answer is fresh.
    pub fresh_ms: u64,
    /// How long the stale answer may still be used while it is fetched anew.
    pub revalidate_ms: u64,
    /// How long the stale answer may still be used if fetching it fails.
    pub error_ms: u64,
    /// The fields of requests on which the answer depends, in lower case, sorted, without repetition.
    pub vary: Vec<Box<[u8]>>,
    /// Whether only the route, and not the answer itself, wants the answer kept. Then it is kept only for clients
    /// without cookies.
    pub is_guess: bool,
}

/// The reason why an answer is not kept.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Why {
    /// The status means a failure or a partial answer, or answers with this status may be for one client only.
    Status,
    /// The answer forbids keeping it.
    Forbidden,
    /// The answer sets a cookie.
    SetsCookie,
    /// The client has a cookie, and nothing says that the answer does not depend on the cookie.
    Cookie,
    /// The answer depends on more than fields of the request, or on too many of them.
    Varies,
    /// The answer is stale at once.
    Stale,
}

/// Decides by the head of an answer, which is the status line and the field lines up to the empty line. `has_cookie`
/// tells whether the request has a cookie.
///
/// # Errors
///
/// The answer must not be kept, or keeping it would be of no use.
pub fn judge(head: &[u8], rules: Rules, has_cookie: bool) -> Result<Terms, Why> {
    let seen = Seen::of(head);
    let control = seen.control;
    if control.no_store || control.no_cache || control.private || seen.pragma == Some(true) {
        return Err(Why::Forbidden);
    }
    if seen.sets_cookie {
        return Err(Why::SetsCookie);
    }
    if seen.varies_by_all || seen.vary.len() > VARY_MAX {
        return Err(Why::Varies);
    }
    let own_ms = seen.own_fresh_ms();
    if !may_be_kept(seen.status, own_ms.is_some()) {
        return Err(Why::Status);
    }
    let seconds = |seconds: Option<u64>| {
        let is_allowed = !control.must_revalidate && control.s_maxage_s.is_none_or(|_| seconds.is_some());
        if is_allowed { seconds.unwrap_or(0) * 1000 } else { 0 }
    };
    let is_guess = own_ms.is_none() && !control.public && !rules.with_cookies;
    // An answer that depends on the cookie says so in `Vary`, and is kept for that cookie.
    let is_guess = is_guess && !seen.vary.iter().any(|name| **name == *b"cookie");
    if is_guess && has_cookie {
        return Err(Why::Cookie);
    }
    let terms = Terms {
        age_ms: seen.age_s * 1000,
        fresh_ms: own_ms.unwrap_or(rules.fresh_ms),
        revalidate_ms: seconds(control.stale_while_revalidate_s),
        error_ms: seconds(control.stale_if_error_s),
        is_guess,
        vary: seen.vary,
    };
    if terms.age_ms >= terms.fresh_ms + terms.revalidate_ms {
        return Err(Why::Stale);
    }
    Ok(terms)
}

/// Whether answers with this status may be kept at all; `says_so`: the answer says for how long. Statuses that depend
/// on how a single request was written are excluded: otherwise one client's strange request would determine the answer
/// for all clients.
fn may_be_kept(status: u16, says_so: bool) -> bool {
    match status {
        200 | 203 | 204 | 300 | 301 | 308 | 404 | 410 => true,
        302 | 303 | 307 | 451 => says_so,
        _ => false,
    }
}

/// The parts of a head that decide whether the answer is kept.
#[derive(Default)]
struct Seen {
    status: u16,
    control: Control,
    /// Whether the answer has `Pragma: no-cache`, by which old applications mean `Cache-Control: no-cache`. It counts
    /// only without `Cache-Control`.
    pragma: Option<bool>,
    sets_cookie: bool,
    varies_by_all: bool,
    vary: Vec<Box<[u8]>>,
    age_s: u64,
    date_s: Option<u64>,
    /// The earliest time in `Expires`; a value that cannot be read counts as a time in the past.
    expires_s: Option<u64>,
}

impl Seen {
    fn of(head: &[u8]) -> Seen {
        let mut seen = Seen::default();
        let mut lines = head.split(|&byte| byte == b'\n').map(<[u8]>::trim_ascii_end);
        let status = lines.next().and_then(|line| line.split(|&byte| byte == b' ').nth(1));
        seen.status = status.and_then(number).and_then(|status| u16::try_from(status).ok()).unwrap_or(0);
        for line in lines.take_while(|line| !line.is_empty()) {
            let Some(colon) = memchr::memchr(b':', line) else { continue };
            seen.field(&line[..colon], line[colon + 1..].trim_ascii());
        }
        seen.vary.sort_unstable();
        seen.vary.dedup();
        seen
    }

    fn field(&mut self, name: &[u8], value: &[u8]) {
        let is = |other: &[u8]| name.eq_ignore_ascii_case(other);
        match name.len() {
            3 if is(b"age") => self.age_s = self.age_s.max(number(value).unwrap_or(0)).min(1 << 31),
            4 if is(b"date") => self.date_s = date(value),
            4 if is(b"vary") => self.read_vary(value),
            6 if is(b"pragma") && value.to_ascii_lowercase().starts_with(b"no-cache") => {
                self.pragma.get_or_insert(true);
            }
            7 if is(b"expires") => {
                let at_s = date(value).unwrap_or(0);
                self.expires_s = Some(self.expires_s.map_or(at_s, |before| before.min(at_s)));
            }
            10 if is(b"set-cookie") => self.sets_cookie = true,
            11 if is(b"set-cookie2") => self.sets_cookie = true,
            13 if is(b"cache-control") => {
                self.pragma = Some(false);
                self.control.read(value);
            }
            _ => {}
        }
    }

    fn read_vary(&mut self, value: &[u8]) {
        for name in value.split(|&byte| byte == b',').map(<[u8]>::trim_ascii) {
            self.varies_by_all |= name == b"*";
            if !name.is_empty() {
                self.vary.push(name.to_ascii_lowercase().into());
            }
        }
    }

    /// How long the answer itself wants to be fresh, if it says so.
    fn own_fresh_ms(&self) -> Option<u64> {
        if let Some(seconds) = self.control.s_maxage_s.or(self.control.max_age_s) {
            return Some(seconds * 1000);
        }
        let at_s = self.expires_s?;
        let since = self.date_s.map_or(0, |date_s| at_s.saturating_sub(date_s));
        Some(since.min(1 << 31) * 1000)
    }
}

fn number(value: &[u8]) -> Option<u64> {
    std::str::from_utf8(value)
        .ok()
        .filter(|text| text.bytes().all(|byte| byte.is_ascii_digit()))?
        .parse()
        .ok()
}

fn date(value: &[u8]) -> Option<u64> {
    let date = httpdate::parse_http_date(std::str::from_utf8(value).ok()?).ok()?;
    date.duration_since(UNIX_EPOCH).ok().as_ref().map(Duration::as_secs)
}
