//! Which endpoints are mostly slow: their requests go to the queue instead of the loop's thread.
//!
//! An endpoint is a method and the first two segments of a path. A call that loses its thread the loop, or
//! that the loop has timed because its batch took long, moves the endpoint's score towards slow. Requests
//! from the queue are timed anyway, and move it back. So the quick path writes nothing and reads no clock.

/// Endpoints that are remembered; what is not is taken for quick.
const PLACES: usize = 1024;

/// From here on a call is slow: some twenty times what it costs to give it to another thread.
pub(crate) const SLOW_US: u64 = 200;

/// The score of an endpoint whose last calls were all slow.
const SCORE_MAX: u8 = 255;

/// From this score on an endpoint is slow, until it falls below [`QUICK`].
const SLOW: u8 = 100;

const QUICK: u8 = 40;

/// A name for an endpoint: a hash, never 0.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Endpoint(u64);

impl Endpoint {
    /// That of requests which nobody learns from.
    pub(crate) const NONE: Self = Self(0);

    /// The endpoint of a method and a path.
    pub(crate) fn of(method: &[u8], path: &[u8]) -> Self {
        let end = memchr::memchr_iter(b'/', path).nth(2).unwrap_or(path.len());
        let mut hash = 0x9e37_79b9_7f4a_7c15
            ^ (method.len() as u64) << 8
            ^ u64::from(method.first().copied().unwrap_or(0));
        for chunk in path[..end].chunks(8) {
            let mut word = [0; 8];
            word[..chunk.len()].copy_from_slice(chunk);
            hash = (hash.rotate_left(23) ^ u64::from_le_bytes(word)).wrapping_mul(0xd6e8_feb8_6659_fd93);
        }
        Self(hash ^ hash >> 32 | 1)
    }
}

#[derive(Clone, Copy)]
struct Place {
    endpoint: u64,
    score: u8,
    slow: bool,
}

/// What has been learned, in a table of fixed size: who sends many paths makes it forget, and no more.
pub(crate) struct Endpoints {
    places: Box<[Place]>,
}

impl Endpoints {
    /// Nothing is known.
    pub(crate) fn new() -> Self {
        Self { places: vec![Place { endpoint: 0, score: 0, slow: false }; PLACES].into() }
    }

    fn place(&mut self, endpoint: Endpoint) -> &mut Place {
        let index = endpoint.0 >> 8;
        &mut self.places[usize::try_from(index % PLACES as u64).unwrap_or(0)]
    }

    /// Whether requests for this endpoint had better wait in the queue.
    pub(crate) fn is_slow(&self, endpoint: Endpoint) -> bool {
        let index = usize::try_from((endpoint.0 >> 8) % PLACES as u64).unwrap_or(0);
        let place = &self.places[index];
        place.slow && place.endpoint == endpoint.0
    }

    /// A call took so long.
    pub(crate) fn took(&mut self, endpoint: Endpoint, us: u64) {
        if us >= SLOW_US {
            self.slow(endpoint);
        } else {
            let place = self.place(endpoint);
            if place.endpoint == endpoint.0 {
                place.score -= place.score.div_ceil(8);
                place.slow &= place.score >= QUICK;
            }
        }
    }

    /// A call was slow.
    pub(crate) fn slow(&mut self, endpoint: Endpoint) {
        if endpoint == Endpoint::NONE {
            return;
        }
        let place = self.place(endpoint);
        if place.endpoint != endpoint.0 {
            if place.score > 0 && place.endpoint != 0 {
                // The one that is there gives way when it is met as often.
                place.score -= place.score.div_ceil(4);
                if place.score > QUICK {
                    return;
                }
            }
            *place = Place { endpoint: endpoint.0, score: 0, slow: false };
        }
        place.score += (SCORE_MAX - place.score) / 4;
        place.slow |= place.score >= SLOW;
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn get(path: &str) -> Endpoint {
        Endpoint::of(b"GET", path.as_bytes())
    }

    /// Two segments and the method tell endpoints apart; what follows does not.
    #[test]
    fn endpoints_have_two_segments() {
        assert_eq!(get("/api/users"), get("/api/users/17/posts"));
        assert_ne!(get("/api/users"), get("/api/items"));
        assert_ne!(get("/"), get("/api"));
        assert_ne!(get("/a"), Endpoint::of(b"PUT", b"/a"));
        assert_ne!(get("/api/users"), Endpoint::of(b"POST", b"/api/users"));
    }

    /// Once is no habit; a few times are. Quick calls undo it.
    #[test]
    fn learns_and_forgets() {
        let (slow, other) = (get("/report"), get("/"));
        let mut endpoints = Endpoints::new();
        endpoints.slow(slow);
        assert!(!endpoints.is_slow(slow));
        endpoints.took(slow, SLOW_US);
        assert!(endpoints.is_slow(slow));
        assert!(!endpoints.is_slow(other));
        for _ in 0..30 {
            endpoints.took(slow, 10);
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
                endpoints.took(page, if slow { 10_000 } else { 10 });
            } else if slow {
                endpoints.slow(page);
            }
        }
        assert!(queued < 2_000, "{queued} of 10000 were queued");
    }

    /// Any number of endpoints fits.
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
