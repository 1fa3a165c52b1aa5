//! What `adyton bench` is told, as a type.

use std::path::PathBuf;

/// Everything that `adyton bench` is told, checked as far as this crate can.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
#[expect(clippy::struct_excessive_bools, reason = "each is a switch of the user, not a state of ours")]
#[expect(missing_docs, reason = "each field's documentation is the help of the row with its name")]
pub struct Bench {
    /// Where to, as typed.
    pub url: String,
    pub connections: u32,
    pub threads: u32,
    pub duration_ms: u64,
    /// 0: as many as the duration allows.
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
    /// None: no answer is late.
    pub deadline_ms: Option<u64>,
    pub method: Option<String>,
    pub headers: Vec<(String, String)>,
    /// Fields that are not sent although they are by default.
    pub omitted: Vec<String>,
    pub data: Option<Data>,
    /// A list of what is asked for instead of the URL.
    pub urls: Option<PathBuf>,
    /// Empty: any of 2xx.
    pub expect_status: Vec<u16>,
    pub check: Check,
    pub count_hits: bool,
    /// Gates that mark the figures, and do not take their place.
    pub accepted: Vec<&'static str>,
    pub expect_body: Option<PathBuf>,
    pub expect_sha256: Option<[u8; 32]>,
    /// Conditions as typed; the generator reads them.
    pub fail_if: Vec<String>,
    /// A condition as typed.
    pub find_rate: Option<String>,
    /// Files, whose names say the form.
    pub output: Vec<PathBuf>,
    pub save: Option<String>,
    pub baseline: Option<String>,
    pub debug: bool,
    pub json: bool,
}

/// The body of a request.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Data {
    /// As typed.
    Text(String),
    /// What a file holds.
    File(PathBuf),
    /// What a file holds, but for ends of lines and bytes that are 0.
    Stripped(PathBuf),
    /// One behind the other.
    Joined(Vec<Data>),
    /// A form with files (RFC 7578).
    Form(Vec<Part>),
}

/// A field of a form.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Part {
    /// Its name.
    pub name: String,
    /// What is sent.
    pub value: Data,
    /// What it is called if it is sent as a file.
    pub filename: Option<String>,
    /// Its media type, if it is told.
    pub media_type: Option<String>,
}

/// What of an answer's body is compared.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Check {
    /// Every byte.
    #[default]
    Body,
    /// The length, and every byte of some.
    Sample,
    /// The length.
    Length,
    /// Nothing.
    Nothing,
}
