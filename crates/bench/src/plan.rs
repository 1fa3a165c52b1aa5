//! The plan of a measurement: what to ask for, how, and what a right answer is.

use std::sync::Arc;

use crate::target::url::Url;

const TRANSFER_ENCODING: &str = "Transfer-Encoding";

/// Bytes in each chunk of a body, except the last chunk, if the body is sent in chunks.
const CHUNK_BYTES: usize = 16 << 10;

/// Everything that a run needs to know.
#[derive(Clone, Debug)]
pub struct Plan {
    /// The target of the requests.
    pub url: Url,
    /// The method, a token.
    pub method: String,
    /// Fields of every request. Host, Content-Length and Connection are added unless they are among these.
    pub headers: Vec<(String, String)>,
    /// Names of default fields, such as User-Agent, that are left out.
    pub omitted: Vec<String>,
    /// The body of every request.
    pub body: Vec<u8>,
    /// Requests that replace the request to `url`, drawn by weight; if the list is empty, all requests are to `url`.
    pub url_list: Vec<WeightedRequest>,
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
    /// Seed of random times and draws; the same seed gives the same times and draws.
    pub seed: u64,
    /// Clients beside the load that are slow.
    pub slow: Slow,
    /// When the measurement ends.
    pub until: Until,
    /// Time before the measurement begins, in milliseconds: an answer that comes in this time does not count.
    pub warm_up_ms: u64,
    /// Time after which an answer and its connection are given up, in milliseconds.
    pub timeout_ms: u64,
    /// Time after which a right answer counts as late, in milliseconds.
    pub deadline_ms: Option<u64>,
    /// Whether the application counts its requests, so that it is asked how many it has seen.
    pub count_hits: bool,
    /// Gates of the machine that the user accepts: if one fails, the figures are marked as disturbed instead of being
    /// invalid.
    pub accepted: Vec<&'static str>,
    /// Which statuses are right.
    pub statuses: Statuses,
    /// The part of the body that must be right.
    pub check: Check,
    /// The right body.
    pub expected: Body,
}

/// One of several requests, which are drawn by weight.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct WeightedRequest {
    /// How often the request is drawn, relative to the weights of the others; not 0.
    pub weight: u32,
    /// The method, a token.
    pub method: String,
    /// The target, at the plan's server.
    pub url: Url,
    /// Whether the plan's body goes with the request.
    pub has_body: bool,
}

/// When requests are sent.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Load {
    /// Closed loop: each connection sends the next request when it has the answer to the last. The server sets the
    /// pace: while the server stalls, nothing is sent, so the latencies say nothing about requests that users would
    /// have sent meanwhile.
    Closed,
    /// Open loop: requests are due at times that do not depend on the answers.
    Open {
        /// Requests a second, of all threads together.
        rate: f64,
        /// The distribution of the requests in time.
        arrivals: Arrivals,
    },
}

impl Load {
    /// Returns the name of the load: `closed`, `constant` or `poisson`.
    pub(crate) fn word(self) -> &'static str {
        match self {
            Self::Closed => "closed",
            Self::Open { arrivals: Arrivals::Constant, .. } => "constant",
            Self::Open { arrivals: Arrivals::Poisson, .. } => "poisson",
        }
    }

    /// Returns the requests a second that are due; `None` in a closed loop.
    pub(crate) fn rate(self) -> Option<f64> {
        match self {
            Self::Closed => None,
            Self::Open { rate, .. } => Some(rate),
        }
    }
}

/// Clients beside the load that are slow by intent. The figures of the load do not include them.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Slow {
    /// Clients that read slowly.
    pub readers: u32,
    /// Clients that send their request a byte at a time.
    pub senders: u32,
    /// Clients that send the head of their request at once, and its body a byte at a time.
    pub uploads: u32,
    /// Pace of each client.
    pub bytes_per_second: u64,
}

impl Slow {
    /// Returns the number of clients of each kind, by its name in the report.
    pub(crate) fn kinds(self) -> [(&'static str, u32); 3] {
        [("readers", self.readers), ("senders", self.senders), ("uploads", self.uploads)]
    }
}

/// The distribution of an open loop's requests in time.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Arrivals {
    /// Requests follow one another at equal distances.
    Constant,
    /// Requests are independent of one another, like requests of many users: the distances are distributed
    /// exponentially.
    Poisson,
}

/// When the measurement ends.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Until {
    /// After this many milliseconds; requests that are then under way are counted as in flight.
    Duration(u64),
    /// When this many requests have an outcome.
    Requests(u64),
}

/// The part of an answer's body that is compared. In any case the body must be as long as the head promises.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Check {
    /// Every byte.
    Body,
    /// The length of each body, and every byte of bodies that are chosen at random.
    Sample,
    /// The length.
    Length,
    /// Nothing: for pages that differ in length from answer to answer.
    Nothing,
}

/// The origin of the right body.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Body {
    /// The first answer, before the measurement.
    First,
    /// The body that the user gives.
    Bytes(Arc<[u8]>),
    /// The body whose SHA-256 the user gives: the first answer must have this hash, and all other bodies must equal the
    /// first.
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
    /// Makes a plan with the defaults of the command line.
    pub fn new(url: Url) -> Self {
        Self {
            url,
            method: "GET".to_owned(),
            headers: Vec::new(),
            omitted: Vec::new(),
            body: Vec::new(),
            url_list: Vec::new(),
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
            accepted: Vec::new(),
            statuses: Statuses::Successful,
            check: Check::Body,
            expected: Body::First,
        }
    }

    /// Returns all requests of the plan.
    pub(crate) fn requested(&self) -> Vec<WeightedRequest> {
        let only = || WeightedRequest {
            weight: 1,
            method: self.method.clone(),
            url: self.url.clone(),
            has_body: true,
        };
        if self.url_list.is_empty() { vec![only()] } else { self.url_list.clone() }
    }

    /// Checks that the plan does not contradict itself.
    ///
    /// # Errors
    ///
    /// A sentence that tells the contradiction.
    pub(crate) fn check(&self) -> Result<(), String> {
        let wrong = |what: &str| Err(what.to_owned());
        if self.connections < self.threads || self.threads == 0 {
            return wrong("each thread needs a connection: ask for at least as many connections as threads");
        }
        if self.pipeline == 0 || (self.pipeline > 1 && !self.keep_alive) {
            return wrong("only connections that are kept alive can have several requests under way");
        }
        if self.pipeline > 1 && self.url_list.len() > 1 {
            return wrong(
                "with several URLs a connection has one request under way at a time: leave --pipeline out",
            );
        }
        if !self.url_list.is_empty() && self.expected != Body::First {
            return wrong(
                "the right bodies of several URLs are those of their first answers, and cannot be given",
            );
        }
        if self.slow.uploads > 0 && self.body.is_empty() {
            return wrong("slow uploads need a body to send: give one with --data or --form");
        }
        match self.load {
            Load::Open { .. } if self.pipeline > 1 => {
                return wrong("an open loop sends one request at a time on a connection");
            }
            Load::Open { rate, .. } if !(rate.is_finite() && rate > 0.0) => {
                return wrong("the rate must be above 0");
            }
            _ => {}
        }
        self.requested().iter().try_for_each(|request| self.check_framing(request))
    }

    /// Checks that the fields which the user gives tell the truth about the body. Otherwise a server would take the
    /// rest of the body for the next request, or the beginning of the next request for the body (RFC 9112 section 6).
    fn check_framing(&self, request: &WeightedRequest) -> Result<(), String> {
        let length = self.body_of(request).len();
        for (name, value) in &self.headers {
            if name.eq_ignore_ascii_case(TRANSFER_ENCODING) && !value.eq_ignore_ascii_case("chunked") {
                return Err(format!(
                    "bodies are sent with their length or in chunks, and not as Transfer-Encoding: {value}: leave it out"
                ));
            }
            if name.eq_ignore_ascii_case("Content-Length") && self.is_chunked() {
                return Err("a body in chunks tells no length: leave Content-Length out".to_owned());
            }
            if name.eq_ignore_ascii_case("Content-Length") && *value != length.to_string() {
                return Err(format!(
                    "Content-Length: {value} is not the length of the body of {} {}, which has {length} bytes: leave it out",
                    request.method, request.url
                ));
            }
        }
        if length > 0 && self.omits("Content-Length") && !self.is_chunked() {
            return Err("without Content-Length a server takes the body for the next request".to_owned());
        }
        Ok(())
    }

    pub(crate) fn body_of(&self, request: &WeightedRequest) -> &[u8] {
        if request.has_body { &self.body } else { &[] }
    }

    /// Whether the user has bodies sent in chunks (RFC 9112 section 7.1).
    fn is_chunked(&self) -> bool {
        self.headers.iter().any(|(name, _)| name.eq_ignore_ascii_case(TRANSFER_ENCODING))
    }

    fn omits(&self, name: &str) -> bool {
        self.omitted.iter().any(|other| other.eq_ignore_ascii_case(name))
    }

    /// Returns the bytes of one request.
    pub(crate) fn request(&self, request: &WeightedRequest) -> Vec<u8> {
        let body = self.body_of(request);
        let is_chunked = self.is_chunked() && !body.is_empty();
        // A default field is not added if the user gives this field or leaves it out.
        let has = |name: &str| {
            self.omits(name) || self.headers.iter().any(|(other, _)| other.eq_ignore_ascii_case(name))
        };
        let mut head = format!("{} {} HTTP/1.1\r\n", request.method, request.url.target);
        let mut field = |name: &str, value: &str| {
            head.push_str(name);
            head.push_str(": ");
            head.push_str(value);
            head.push_str("\r\n");
        };
        if !has("Host") {
            field("Host", &request.url.host);
        }
        if !has("User-Agent") {
            field("User-Agent", concat!("adyton-bench/", env!("CARGO_PKG_VERSION")));
        }
        for (name, value) in
            self.headers.iter().filter(|(name, _)| !name.eq_ignore_ascii_case(TRANSFER_ENCODING))
        {
            field(name, value);
        }
        if is_chunked {
            field(TRANSFER_ENCODING, "chunked");
        } else if (!body.is_empty() || request.may_have_body()) && !has("Content-Length") {
            field("Content-Length", &body.len().to_string());
        }
        if !self.keep_alive && !has("Connection") {
            field("Connection", "close");
        }
        head.push_str("\r\n");
        let mut request = head.into_bytes();
        if !is_chunked {
            request.extend_from_slice(body);
            return request;
        }
        for chunk in body.chunks(CHUNK_BYTES) {
            request.extend_from_slice(format!("{:x}\r\n", chunk.len()).as_bytes());
            request.extend_from_slice(chunk);
            request.extend_from_slice(b"\r\n");
        }
        request.extend_from_slice(b"0\r\n\r\n");
        request
    }

    /// Returns in words what is compared.
    pub(crate) fn checked(&self) -> &'static str {
        match self.check {
            Check::Body | Check::Sample | Check::Length
                if self.requested().iter().all(WeightedRequest::is_head) =>
            {
                "status, and the length that is told"
            }
            Check::Body => "status and every byte of the body",
            Check::Sample => "status and length, and every byte of some bodies",
            Check::Length => "status and length",
            Check::Nothing => "status",
        }
    }
}

impl WeightedRequest {
    /// Whether the answers have no body, whatever their heads say.
    pub(crate) fn is_head(&self) -> bool {
        self.method == "HEAD"
    }

    /// Whether the method gives a body a meaning, so that the request has a Content-Length even if the body is empty
    /// (RFC 9110 section 8.6).
    fn may_have_body(&self) -> bool {
        ["POST", "PUT", "PATCH"].contains(&self.method.as_str())
    }
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used, reason = "an error here is a failed test")]

    use super::*;

    fn plan(method: &str, body: &[u8], fields: &[(&str, &str)]) -> Plan {
        let headers = fields.iter().map(|(name, value)| ((*name).to_owned(), (*value).to_owned())).collect();
        let url = "http://127.0.0.1:1/".parse().unwrap();
        Plan { method: method.to_owned(), body: body.to_vec(), headers, ..Plan::new(url) }
    }

    fn request(plan: &Plan) -> String {
        String::from_utf8(plan.request(&plan.requested()[0])).unwrap()
    }

    #[test]
    fn the_length_is_told_where_a_body_has_a_meaning() {
        for (method, body, length) in [
            ("POST", "", Some("0")),
            ("PUT", "", Some("0")),
            ("PATCH", "abc", Some("3")),
            ("GET", "a", Some("1")),
            ("GET", "", None),
            ("DELETE", "", None),
        ] {
            let request = request(&plan(method, body.as_bytes(), &[]));
            let found = request.lines().find_map(|line| line.strip_prefix("Content-Length: "));

            assert_eq!(length, found, "{method} {body}");
        }
    }

    #[test]
    fn fields_say_of_the_body_what_is_true() {
        let (length, coding) = ("Content-Length", "Transfer-Encoding");
        let cases = [
            ("abc", "content-length", "3", None),
            ("", length, "0", None),
            ("abc", length, "4", Some("Content-Length: 4 is not the length")),
            ("", length, "x", Some("Content-Length: x is not the length")),
            ("abc", "transfer-encoding", "Chunked", None),
            ("", coding, "chunked", None),
            ("abc", coding, "gzip, chunked", Some("bodies are sent with their length or in chunks")),
            ("", coding, "identity", Some("bodies are sent with their length or in chunks")),
        ];
        for (body, name, value, expected) in cases {
            let why = plan("POST", body.as_bytes(), &[(name, value)]).check().err();

            assert_eq!(expected.is_some(), why.is_some(), "{name}: {value}");
            assert!(why.unwrap_or_default().starts_with(expected.unwrap_or("")), "{name}: {value}");
        }
    }

    #[test]
    fn bodies_are_sent_in_chunks() {
        let chunked =
            |method: &str, body: &[u8]| request(&plan(method, body, &[(TRANSFER_ENCODING, "CHUNKED")]));
        let both = plan("POST", b"abc", &[(TRANSFER_ENCODING, "chunked"), ("Content-Length", "3")]);
        let long = vec![b'x'; CHUNK_BYTES + 1];

        let text = chunked("POST", &long);
        let (head, body) = text.split_once("\r\n\r\n").unwrap();
        assert!(head.contains("Transfer-Encoding: chunked") && !head.contains("Content-Length"), "{head}");
        assert_eq!(format!("4000\r\n{}\r\n1\r\nx\r\n0\r\n\r\n", "x".repeat(CHUNK_BYTES)), body);
        assert!(
            chunked("POST", b"").ends_with("Content-Length: 0\r\n\r\n"),
            "without a body there is no chunk"
        );
        assert!(!chunked("GET", b"").contains(TRANSFER_ENCODING));
        assert!(both.check().is_err());
        let omitted = vec!["Content-Length".to_owned()];
        assert!(Plan { omitted, ..plan("POST", b"a", &[(TRANSFER_ENCODING, "chunked")]) }.check().is_ok());
    }

    #[test]
    fn what_is_left_out_is_not_sent() {
        let omitted = ["user-agent", "HOST"].map(str::to_owned).to_vec();

        assert_eq!("GET / HTTP/1.1\r\n\r\n", request(&Plan { omitted, ..plan("GET", b"", &[]) }));
        let omitted = vec!["Content-Length".to_owned()];
        assert!(Plan { omitted, ..plan("POST", b"a", &[]) }.check().is_err());
    }
}
