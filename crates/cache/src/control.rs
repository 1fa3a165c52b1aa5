//! The field `Cache-Control` of an answer (RFC 9111 section 5.2.2, RFC 5861).

/// The longest time that is told apart: 2^31 seconds, as RFC 9111 section 1.2.2 has it.
const SECONDS_MAX: u64 = 1 << 31;

/// The directives of an answer's `Cache-Control`.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
#[expect(clippy::struct_excessive_bools, reason = "each directive may be there or not")]
pub struct Control {
    /// The answer must not be kept. Also set if the field cannot be understood.
    pub no_store: bool,
    /// The answer must not be used without revalidation. A directive that names fields is taken to mean the whole
    /// answer.
    pub no_cache: bool,
    /// The answer is for one client. A directive that names fields is taken to mean the whole answer.
    pub private: bool,
    /// The answer is for all clients.
    pub public: bool,
    /// The answer must not be used once it is stale.
    pub must_revalidate: bool,
    /// How long the answer is fresh for any cache.
    pub max_age_s: Option<u64>,
    /// How long the answer is fresh for shared caches.
    pub s_maxage_s: Option<u64>,
    /// How long a stale answer may still be used while it is fetched anew.
    pub stale_while_revalidate_s: Option<u64>,
    /// How long a stale answer may still be used if fetching it fails.
    pub stale_if_error_s: Option<u64>,
}

impl Control {
    /// Adds the directives of another line of the field. If a time is given twice, the shorter one counts.
    pub fn read(&mut self, line: &[u8]) {
        let mut rest = line;
        while !rest.is_empty() {
            let Some((directive, behind)) = next(rest) else {
                // If a quote does not end, the text after it may hold any directive.
                self.no_store = true;
                return;
            };
            self.directive(directive);
            rest = behind;
        }
    }

    fn directive(&mut self, directive: &[u8]) {
        let equals = memchr::memchr(b'=', directive);
        let (name, value) = directive.split_at(equals.unwrap_or(directive.len()));
        let (name, value) = (name.trim_ascii(), value.get(1..).map(<[u8]>::trim_ascii));
        let is = |other: &[u8]| name.eq_ignore_ascii_case(other);
        // Comparing the lengths first rules out most names at once.
        match name.len() {
            6 if is(b"public") => self.public = true,
            7 if is(b"private") => self.private = true,
            7 if is(b"max-age") => shorten(&mut self.max_age_s, value),
            8 if is(b"no-store") => self.no_store = true,
            8 if is(b"no-cache") => self.no_cache = true,
            8 if is(b"s-maxage") => shorten(&mut self.s_maxage_s, value),
            14 if is(b"stale-if-error") => shorten(&mut self.stale_if_error_s, value),
            15 if is(b"must-revalidate") => self.must_revalidate = true,
            16 if is(b"proxy-revalidate") => self.must_revalidate = true,
            22 if is(b"stale-while-revalidate") => shorten(&mut self.stale_while_revalidate_s, value),
            _ => {}
        }
    }
}

/// The first directive of a line, and the text after its comma; `None` if a quote does not end.
fn next(line: &[u8]) -> Option<(&[u8], &[u8])> {
    let mut at = 0;
    let mut is_quoted = false;
    while let Some(&byte) = line.get(at) {
        match byte {
            b'"' => is_quoted = !is_quoted,
            b'\\' if is_quoted => at += 1,
            b',' if !is_quoted => return Some((&line[..at], &line[at + 1..])),
            _ => {}
        }
        at += 1;
    }
    (!is_quoted).then_some((line, b""))
}

/// Sets a time. A value that is not a number counts as 0: such an answer is stale (RFC 9111 section 4.2.1).
fn shorten(before: &mut Option<u64>, value: Option<&[u8]>) {
    let value = value.unwrap_or_default();
    let value = value.strip_prefix(b"\"").and_then(|value| value.strip_suffix(b"\"")).unwrap_or(value);
    let seconds = if !value.is_empty() && value.iter().all(u8::is_ascii_digit) {
        let digit = |sum: u64, byte: &u8| (sum * 10 + u64::from(byte - b'0')).min(SECONDS_MAX);
        value.iter().fold(0, digit)
    } else {
        0
    };
    *before = Some(before.map_or(seconds, |before| before.min(seconds)));
}
