//! The options of `adyton bench`, as a type.

use std::path::PathBuf;

/// The options of `adyton bench`, checked as far as this crate can.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
#[expect(clippy::struct_excessive_bools, reason = "each is a switch of the user, not a state of ours")]
#[expect(missing_docs, reason = "each field's documentation is the help of the row with its name")]
pub struct Bench {
    /// The URL to load, as typed.
    pub url: String,
    pub connections: u32,
    pub threads: u32,
    pub duration_ms: u64,
    /// Number of requests; 0: as many as the duration allows.
    pub requests: u64,
    pub keep_alive: bool,
    pub pipeline: u32,
    /// Requests a second; `None`: a closed loop.
    pub rate: Option<u64>,
    pub poisson: bool,
    pub seed: u64,
    pub slow_readers: u32,
    pub slow_senders: u32,
    pub slow_uploads: u32,
    pub slow_rate_bytes_per_second: u64,
    pub warm_up_ms: u64,
    pub timeout_ms: u64,
    /// Time after which an answer counts as late; `None`: never.
    pub deadline_ms: Option<u64>,
    pub method: Option<String>,
    pub headers: Vec<(String, String)>,
    /// Names of header fields that are sent by default and left out here.
    pub omitted: Vec<String>,
    pub data: Option<Data>,
    /// File with a list of URLs, which are requested in the place of the one URL.
    pub urls: Option<PathBuf>,
    /// Statuses that are right; empty: any of 2xx.
    pub expect_status: Vec<u16>,
    pub check: Check,
    pub count_hits: bool,
    /// Checks of the machine: if one of these fails, the figures are marked as disturbed instead of being replaced by
    /// INVALID.
    pub accepted: Vec<&'static str>,
    pub expect_body: Option<PathBuf>,
    pub expect_sha256: Option<[u8; 32]>,
    /// Conditions as typed; the generator reads them.
    pub fail_if: Vec<String>,
    /// A condition as typed.
    pub find_rate: Option<String>,
    /// Files whose suffixes give their format.
    pub output: Vec<PathBuf>,
    pub save: Option<String>,
    pub baseline: Option<String>,
    pub debug: bool,
    pub json: bool,
}

/// The body of a request.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Data {
    /// A text as typed.
    Text(String),
    /// The content of a file.
    File(PathBuf),
    /// The content of a file without line ends and NUL bytes.
    Stripped(PathBuf),
    /// Several bodies, one behind the other.
    Joined(Vec<Data>),
    /// A form with files (RFC 7578).
    Form(Vec<FormPart>),
}

/// A field of a form.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct FormPart {
    /// Its name.
    pub name: String,
    /// The content.
    pub value: Data,
    /// The file name that is sent with the content; `None`: the content is sent as a text.
    pub filename: Option<String>,
    /// Its media type, if one is given.
    pub media_type: Option<String>,
}

/// The part of an answer's body that is compared with the expected body.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Check {
    /// Every byte.
    #[default]
    Body,
    /// The length, and every byte of some bodies.
    Sample,
    /// The length.
    Length,
    /// Nothing.
    Nothing,
}
