//! What is to be measured, and what a right answer is.

use std::sync::Arc;

use crate::url::Url;

/// Everything that a run needs to know.
#[derive(Clone, Debug)]
pub struct Plan {
    /// Where to, and what for.
    pub url: Url,
    /// The method, a token.
    pub method: String,
    /// Fields of every request, besides Host, Content-Length and Connection unless they are among these.
    pub headers: Vec<(String, String)>,
    /// The body of every request.
    pub body: Vec<u8>,
    /// What is asked for instead of the URL, drawn by weight; none: the URL.
    pub targets: Vec<Target>,
    /// Connections at the same time, of all threads together; at least as many as threads.
    pub connections: u32,
    /// Threads, each with an event loop of its own.
    pub threads: u32,
    /// Whether a connection takes more than one request.
    pub keep_alive: bool,
    /// Requests that a connection has under way at once: 1, unless the user asks for more.
    pub pipeline: u32,
    /// When requests are sent.
    pub load: Load,
    /// What random times and draws are made of; the same seed gives the same.
    pub seed: u64,
    /// Clients beside the load that are slow.
    pub slow: Slow,
    /// When the measurement ends.
    pub until: Until,
    /// Seconds before the measurement begins, in milliseconds: what has its answer then counts nowhere.
    pub warm_up_ms: u64,
    /// An answer that takes longer is given up, with its connection; in milliseconds.
    pub timeout_ms: u64,
    /// Right answers that come later are told apart; in milliseconds.
    pub deadline_ms: Option<u64>,
    /// The application counts its requests, and is asked how many there were.
    pub count_hits: bool,
    /// Which statuses are right.
    pub statuses: Statuses,
    /// What of the body must be right.
    pub check: Check,
    /// Which body is right.
    pub expected: Body,
}

/// One of several requests, which are drawn by weight.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Target {
    /// How often it is drawn, beside the others' weights; not 0.
    pub weight: u32,
    /// The method, a token.
    pub method: String,
    /// What for, at the plan's server.
    pub url: Url,
    /// The plan's body goes with it.
    pub has_body: bool,
}

/// When requests are sent.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Load {
    /// Closed loop: each connection sends the next request when it has the answer to the last. The server sets the
    /// pace: when it stalls, nothing is sent, and the latencies say nothing of those who would have come.
    Closed,
    /// Open loop: requests are due at times that do not depend on the answers.
    Open {
        /// Requests a second, of all threads together.
        rate: f64,
        /// How they lie in time.
        arrivals: Arrivals,
    },
}

impl Load {
    /// What it is called: `closed`, `constant` or `poisson`.
    pub(crate) fn word(self) -> &'static str {
        match self {
            Self::Closed => "closed",
            Self::Open { arrivals: Arrivals::Constant, .. } => "constant",
            Self::Open { arrivals: Arrivals::Poisson, .. } => "poisson",
        }
    }

    /// Requests a second that are due; none in a closed loop.
    pub(crate) fn rate(self) -> Option<f64> {
        match self {
            Self::Closed => None,
            Self::Open { rate, .. } => Some(rate),
        }
    }
}

/// Clients beside the load that are slow by intent, and count into no figure of it.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Slow {
    /// Clients that read slowly.
    pub readers: u32,
    /// Clients that send their request a byte at a time.
    pub senders: u32,
    /// How fast each is.
    pub bytes_per_second: u64,
}

/// How the requests of an open loop lie in time.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Arrivals {
    /// One after the other at equal distances.
    Constant,
    /// Independent of one another, as those of many users: the distances are distributed exponentially.
    Poisson,
}

/// When the measurement ends.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Until {
    /// After so many milliseconds; what is under way then is counted as that.
    Duration(u64),
    /// When so many requests have an outcome.
    Requests(u64),
}

/// What of an answer's body is compared. Its length always has to be what its head promises.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Check {
    /// Every byte.
    Body,
    /// The length, and every byte of some, which are drawn.
    Sample,
    /// The length.
    Length,
    /// Nothing: for pages that differ in length from answer to answer.
    Nothing,
}

/// Where the right body comes from.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Body {
    /// The first answer, which is asked for before the measurement.
    First,
    /// The user has it.
    Bytes(Arc<[u8]>),
    /// The user has its SHA-256: the first answer must have it, and the others must be the same.
    Sha256([u8; 32]),
}

/// Statuses that are right.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Statuses {
    /// From 200 to 299.
    Successful,
    /// These.
    Of(Vec<u16>),
}

impl Statuses {
    /// Whether `status` is right.
    pub fn have(&self, status: u16) -> bool {
        match self {
            Self::Successful => (200..300).contains(&status),
            Self::Of(statuses) => statuses.contains(&status),
        }
    }
}

impl Plan {
    /// A plan with everything as the command line has it when nothing is said.
    pub fn new(url: Url) -> Self {
        Self {
            url,
            method: "GET".to_owned(),
            headers: Vec::new(),
            body: Vec::new(),
            targets: Vec::new(),
            connections: 64,
            threads: 1,
            keep_alive: true,
            pipeline: 1,
            load: Load::Closed,
            seed: 1,
            slow: Slow::default(),
            until: Until::Duration(10_000),
            warm_up_ms: 1_000,
            timeout_ms: 5_000,
            deadline_ms: None,
            count_hits: false,
            statuses: Statuses::Successful,
            check: Check::Body,
            expected: Body::First,
        }
    }

    /// Everything that is asked for.
    pub(crate) fn requested(&self) -> Vec<Target> {
        let only =
            || Target { weight: 1, method: self.method.clone(), url: self.url.clone(), has_body: true };
        if self.targets.is_empty() { vec![only()] } else { self.targets.clone() }
    }

    /// The bytes of one request.
    pub(crate) fn request(&self, target: &Target) -> Vec<u8> {
        let body: &[u8] = if target.has_body { &self.body } else { &[] };
        let has = |name: &str| self.headers.iter().any(|(other, _)| other.eq_ignore_ascii_case(name));
        let mut head = format!("{} {} HTTP/1.1\r\n", target.method, target.url.target);
        let mut field = |name: &str, value: &str| {
            head.push_str(name);
            head.push_str(": ");
            head.push_str(value);
            head.push_str("\r\n");
        };
        if !has("Host") {
            field("Host", &target.url.host);
        }
        if !has("User-Agent") {
            field("User-Agent", concat!("adyton-bench/", env!("CARGO_PKG_VERSION")));
        }
        for (name, value) in &self.headers {
            field(name, value);
        }
        if !body.is_empty() && !has("Content-Length") {
            field("Content-Length", &body.len().to_string());
        }
        if !self.keep_alive && !has("Connection") {
            field("Connection", "close");
        }
        head.push_str("\r\n");
        let mut request = head.into_bytes();
        request.extend_from_slice(body);
        request
    }
}

impl Target {
    /// Whether the answers have no body, whatever their heads say.
    pub(crate) fn is_head(&self) -> bool {
        self.method == "HEAD"
    }
}
