//! Scores of endpoints: requests of endpoints that are mostly slow go to the queue instead of the loop's thread.
//!
//! An endpoint is a method and a path in which all segments with a digit count as equal: such segments name a thing,
//! and not what is done with it. A call during which another thread takes over the loop, or that the loop has timed
//! because its batch took long, moves the endpoint's score towards slow. Requests from the queue are timed anyway;
//! quick ones move the score back. So the quick path writes nothing and reads no clock.
//!
//! A call on a thread of the queue may have waited only for the interpreter, which another thread of the queue had:
//! calls on these threads would make each other look slow. On the loop's thread such a wait is rare. So the loop's
//! thread now and then makes a call of a slow endpoint whose calls are brief; if that call is quick, the endpoint is
//! taken for quick.
//!
//! If things are named by words, each path may be met only once. So a call of an endpoint without a score moves the
//! score of its *family*, too: the endpoints that differ in the last segment alone. Endpoints of a slow family go to
//! the queue until they have a score of their own.

use adyton_http::Request;

use crate::threads::pace::Pace;

/// Endpoints that are remembered; other endpoints are taken for quick.
const SCORES: usize = 1024;

/// Number of calls of a slow but brief endpoint of which the loop's thread makes one.
const TRIED: u8 = 64;

/// The score of an endpoint whose last calls were all slow.
const SCORE_MAX: u8 = 255;

/// From this score on, an endpoint is slow, until its score falls below [`QUICK`].
const SLOW: u8 = 100;

const QUICK: u8 = 40;

/// Bytes of a path that tell endpoints apart; the rest is not looked at.
const PATTERN_BYTES: usize = 128;

/// A name for an endpoint and a name for its family: hashes, never 0.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Endpoint {
    own: u64,
    family: u64,
}

impl Endpoint {
    /// The endpoint of requests from which nothing is learned.
    pub(crate) const NONE: Self = Self { own: 0, family: 0 };

    /// Returns the endpoint of a method and a path.
    pub(crate) fn of(method: &[u8], path: &[u8]) -> Self {
        let path = &path[..path.len().min(PATTERN_BYTES)];
        // A fold has no branch for each byte, unlike `any`.
        if path.iter().fold(false, |found, byte| found | byte.is_ascii_digit()) {
            let mut buffer = [0; PATTERN_BYTES];
            return Self::of_pattern(method, pattern(path, &mut buffer));
        }
        Self::of_pattern(method, path)
    }

    fn of_pattern(method: &[u8], pattern: &[u8]) -> Self {
        let seed = 0x9e37_79b9_7f4a_7c15
            ^ (method.len() as u64) << 8
            ^ u64::from(method.first().copied().unwrap_or(0));
        let last = memchr::memrchr(b'/', pattern).unwrap_or(0);
        Self { own: hash(seed, pattern), family: hash(!seed, &pattern[..last]) }
    }
}

/// The endpoint of the last head, remembered because it may be asked for again.
#[derive(Default)]
pub(crate) struct LastEndpoint(Option<(u64, Endpoint)>);

impl LastEndpoint {
    /// Returns the endpoint of the head that was parsed as number `reads`.
    pub(crate) fn of(&mut self, reads: u64, request: Request<'_>) -> Endpoint {
        match self.0 {
            Some((last, endpoint)) if last == reads => endpoint,
            _ => {
                let endpoint = Endpoint::of(request.method_name(), request.path());
                self.0 = Some((reads, endpoint));
                endpoint
            }
        }
    }
}

fn hash(seed: u64, bytes: &[u8]) -> u64 {
    let mut hash = seed;
    for chunk in bytes.chunks(8) {
        let mut word = [0; 8];
        word[..chunk.len()].copy_from_slice(chunk);
        hash = (hash.rotate_left(23) ^ u64::from_le_bytes(word)).wrapping_mul(0xd6e8_feb8_6659_fd93);
    }
    hash ^ hash >> 32 | 1
}

/// Returns a path with `0` in the place of each segment that has a digit; the result is never longer than the path.
fn pattern<'a>(path: &[u8], buffer: &'a mut [u8; PATTERN_BYTES]) -> &'a [u8] {
    let mut length = 0;
    for (number, segment) in path.split(|&byte| byte == b'/').enumerate() {
        let part = if segment.iter().any(u8::is_ascii_digit) { b"0" } else { segment };
        if number > 0 {
            buffer[length] = b'/';
            length += 1;
        }
        buffer[length..length + part.len()].copy_from_slice(part);
        length += part.len();
    }
    &buffer[..length]
}

/// The score of an endpoint, or of a family: how slow its calls were.
#[derive(Clone, Copy)]
struct Score {
    name: u64,
    points: u8,
    slow: bool,
    /// Whether the last slow call was brief.
    is_brief: bool,
    /// Calls that went to the queue since the last trial.
    queued: u8,
}

impl Score {
    /// Makes the score of a name about which nothing is known.
    fn new(name: u64) -> Self {
        Self { name, points: 0, slow: false, is_brief: false, queued: 0 }
    }

    /// Gives the score to this name, unless it belongs to another name that is met more often. Returns whether the
    /// score belongs to this name now.
    fn becomes(&mut self, name: u64) -> bool {
        if self.name != name {
            // The present name gives way when the new one is met as often.
            self.points -= self.points.div_ceil(4);
            if self.points > QUICK {
                return false;
            }
            *self = Self::new(name);
        }
        true
    }

    fn slow(&mut self, is_brief: bool) {
        self.is_brief = is_brief;
        self.points += (SCORE_MAX - self.points) / 4;
        self.slow |= self.points >= SLOW;
    }

    fn quick(&mut self) {
        self.points -= self.points.div_ceil(8);
        self.slow &= self.points >= QUICK;
    }
}

/// Scores in a table of fixed size: a client that sends many paths makes the table forget endpoints, and has no other
/// effect.
pub(crate) struct Endpoints {
    scores: Box<[Score]>,
}

impl Endpoints {
    /// Makes a table that knows nothing yet.
    pub(crate) fn new() -> Self {
        Self { scores: vec![Score::new(0); SCORES].into() }
    }

    fn entry(&mut self, name: u64) -> &mut Score {
        &mut self.scores[index(name)]
    }

    /// Returns the score of this name, if there is one.
    fn known(&self, name: u64) -> Option<&Score> {
        Some(&self.scores[index(name)]).filter(|score| score.name == name)
    }

    /// Whether the next request for this endpoint should wait in the queue.
    pub(crate) fn is_slow(&mut self, endpoint: Endpoint) -> bool {
        let name = if self.known(endpoint.own).is_some() { endpoint.own } else { endpoint.family };
        if !self.known(name).is_some_and(|score| score.slow) {
            return false;
        }
        let score = self.entry(name);
        score.queued = (score.queued + 1) % TRIED;
        !(score.is_brief && score.queued == 0)
    }

    /// Whether a call of this endpoint, which the loop's thread makes, is a trial.
    pub(crate) fn is_trial(&self, endpoint: Endpoint) -> bool {
        self.known(endpoint.own).is_some_and(|score| score.slow)
    }

    /// Learns from a call that the loop's thread has made.
    pub(crate) fn made(&mut self, endpoint: Endpoint, pace: Pace) {
        if pace == Pace::Quick
            && let Some(score) = self.known(endpoint.own)
            && score.slow
        {
            *self.entry(endpoint.own) = Score::new(endpoint.own);
        } else {
            self.took(endpoint, pace);
        }
    }

    /// Learns the pace of a call.
    pub(crate) fn took(&mut self, endpoint: Endpoint, pace: Pace) {
        if pace != Pace::Quick {
            self.note_slow(endpoint, pace == Pace::Brief);
        } else if self.known(endpoint.own).is_some() {
            self.entry(endpoint.own).quick();
        } else if self.known(endpoint.family).is_some_and(|family| family.slow) {
            self.entry(endpoint.family).quick();
            self.entry(endpoint.own).becomes(endpoint.own);
        }
    }

    /// Learns that a call was slow.
    pub(crate) fn slow(&mut self, endpoint: Endpoint) {
        self.note_slow(endpoint, false);
    }

    fn note_slow(&mut self, endpoint: Endpoint, is_brief: bool) {
        if endpoint == Endpoint::NONE {
            return;
        }
        let is_new = self.known(endpoint.own).is_none();
        for name in [endpoint.own].into_iter().chain(is_new.then_some(endpoint.family)) {
            let score = self.entry(name);
            if score.becomes(name) {
                score.slow(is_brief);
            }
        }
    }
}

fn index(name: u64) -> usize {
    usize::try_from((name >> 8) % SCORES as u64).unwrap_or(0)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn get(path: &str) -> Endpoint {
        Endpoint::of(b"GET", path.as_bytes())
    }

    /// Requests belong to different endpoints if their methods or any of their segments differ; all segments with a
    /// digit count as equal.
    #[test]
    fn endpoints_are_patterns() {
        assert_eq!(get("/users/17/posts"), get("/users/18/posts"));
        assert_eq!(get("/users/17"), get("/users/7f3c-04"));
        assert_ne!(get("/users/17/posts"), get("/users/17/likes"));
        assert_ne!(get("/api/v1/report"), get("/api/v1/ping"));
        assert_ne!(get("/users/17"), get("/users/me"));
        assert_ne!(get("/"), get("/api"));
        assert_ne!(get("/a"), Endpoint::of(b"PUT", b"/a"));
        let long = format!("/{}", "9/".repeat(1_000));
        assert_eq!(get(&long), get(&format!("{long}a")), "what is beyond the bound is not looked at");
    }

    /// A slow endpoint makes no other endpoint beside it wait.
    #[test]
    fn neighbours_stay_quick() {
        let mut endpoints = Endpoints::new();
        for _ in 0..100 {
            endpoints.slow(get("/api/v1/report"));
        }
        assert!(endpoints.is_slow(get("/api/v1/report")));
        assert!(!endpoints.is_slow(get("/api/v1/ping")));
    }

    /// If pages are named by words, and each is met once, the score of their family is learned; a quick page of the
    /// family is known after one call.
    #[test]
    fn families_are_learned() {
        let word = |number: u8| get(&format!("/pages/{}", char::from(b'a' + number)));
        let mut endpoints = Endpoints::new();
        for number in 0..8 {
            endpoints.slow(word(number));
        }
        assert!(endpoints.is_slow(word(20)));

        endpoints.took(word(20), Pace::Quick);

        assert!(!endpoints.is_slow(word(20)));
        assert!(endpoints.is_slow(word(21)));
        for number in 8..20 {
            endpoints.took(word(number), Pace::Quick);
        }
        assert!(!endpoints.is_slow(word(21)), "most of them are quick");
    }

    /// One slow call does not make an endpoint slow, a few do, and quick calls undo that.
    #[test]
    fn learns_and_forgets() {
        let (slow, other) = (get("/report"), get("/"));
        let mut endpoints = Endpoints::new();
        endpoints.slow(slow);
        assert!(!endpoints.is_slow(slow));
        endpoints.took(slow, Pace::Slow);
        assert!(endpoints.is_slow(slow));
        assert!(!endpoints.is_slow(other));
        for _ in 0..30 {
            endpoints.took(slow, Pace::Quick);
        }
        assert!(!endpoints.is_slow(slow));
    }

    /// One slow call in a hundred keeps an endpoint quick most of the time.
    #[test]
    fn rarely_slow_is_quick() {
        let page = get("/page");
        let mut endpoints = Endpoints::new();
        let mut queued = 0;
        for number in 0..10_000 {
            let slow = number % 100 == 0;
            if endpoints.is_slow(page) {
                queued += 1;
                endpoints.took(page, if slow { Pace::Slow } else { Pace::Quick });
            } else if slow {
                endpoints.slow(page);
            }
        }
        assert!(queued < 2_000, "{queued} of 10000 were queued");
    }

    /// A brief endpoint is tried again and again, and one quick call of the loop's thread is enough; a long one is
    /// never tried.
    #[test]
    fn brief_calls_are_tried() {
        let (brief, long) = (get("/brief"), get("/long"));
        let mut endpoints = Endpoints::new();
        for _ in 0..4 {
            endpoints.took(brief, Pace::Brief);
            endpoints.took(long, Pace::Slow);
        }
        let tried =
            |endpoints: &mut Endpoints, endpoint| (0..640).filter(|_| !endpoints.is_slow(endpoint)).count();
        assert_eq!((10, 0), (tried(&mut endpoints, brief), tried(&mut endpoints, long)));

        assert!(endpoints.is_trial(brief));
        endpoints.made(brief, Pace::Brief);
        assert_eq!(10, tried(&mut endpoints, brief), "it does wait");
        endpoints.made(brief, Pace::Quick);
        assert_eq!(640, tried(&mut endpoints, brief));
    }

    /// The table takes any number of endpoints.
    #[test]
    fn many_endpoints() {
        let mut endpoints = Endpoints::new();
        for number in 0..100_000 {
            endpoints.slow(get(&format!("/{number}")));
        }
        let page = get("/page");
        for _ in 0..20 {
            endpoints.slow(page);
        }
        assert!(endpoints.is_slow(page));
    }
}
