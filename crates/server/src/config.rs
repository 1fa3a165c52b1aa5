//! The limits and timeouts that hold for all sites of a server; the reasons are with the settings that fill them.

use std::ffi::OsString;
use std::net::SocketAddr;
use std::path::PathBuf;
use std::sync::Arc;

use adyton_http::ResponseHead;
use adyton_http1::Limits;
use adyton_proxied::Trust;

use crate::client::body::BodyMemory;
use crate::client::passage::SealKey;
use crate::client::stored::Quota;
use crate::site::limits::LONG_MS;

/// The condition under which a loop changes hands.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum HandOver {
    /// When a call takes too long.
    Auto,
    /// Before every call.
    Always,
    /// Only when a call waits for its client.
    Never,
}

/// Limits of a server, whatever site a client wants. Bytes are bytes, `_ms` are milliseconds.
#[derive(Clone, Debug)]
pub struct Config {
    /// Limits of a request head.
    pub head: Limits,
    /// The header field that carries a request's id, in requests and in answers; empty for none.
    pub request_id_field: Vec<u8>,
    /// Whether log lines have a place for the trace of a request (W3C Trace Context).
    pub logs_traces: bool,
    /// Whether to refuse requests with `_` in a field's name; if not, the field is hidden from the application.
    pub refuse_underscores: bool,
    /// Memory for all bodies together; a body that finds none goes to a file.
    pub body_memory: Arc<BodyMemory>,
    /// Disk space for all bodies in files together; a body that finds none is answered 503.
    pub body_files: Arc<Quota>,
    /// The folder in which the unlinked files are made.
    pub temp_dir: PathBuf,
    /// Time from accept to the first byte.
    pub first_byte_timeout_ms: u64,
    /// Time from a head's first byte to its last, in all.
    pub head_timeout_ms: u64,
    /// How long a client may keep the server waiting for a request while other clients wait for its place.
    pub crowded_timeout_ms: u64,
    /// Most connections at once; further ones wait in the kernel's queue.
    pub connections_max: usize,
    /// Most connections of one client address at once; a further one is closed. 0 is no limit.
    pub connections_per_address_max: u32,
    /// How much of an unread body is read and thrown away to spare the client a reset.
    pub drain_bytes_max: u64,
    /// How long reading and throwing away may take.
    pub linger_timeout_ms: u64,
    /// How long running requests may take once the server was asked to stop.
    pub graceful_timeout_ms: u64,
    /// Most threads inside the application, at least 1.
    pub threads: usize,
    /// The condition under which a loop changes hands.
    pub hand_over: HandOver,
    /// Number of steps of nice(2) by which the priority of a thread that runs slow requests is lowered.
    pub nice: u8,
    /// Most requests that wait for a thread; further ones are answered 503.
    pub queue_max: usize,
    /// How long each request may wait before it is answered 503.
    pub queue_timeout_ms: u64,
    /// Most bodies that are streamed to the application at once, each by a thread that may wait; the loop itself reads
    /// further bodies.
    pub stream_body_threads_max: usize,
    /// Most scripts that run at once, at least 1.
    pub scripts_max: usize,
    /// The command of the process that starts scripts ([`adyton_spawn::serve`]): a program and its arguments. Empty for
    /// none.
    pub spawn_command: Vec<OsString>,
    /// Bytes of all answers together that may wait for their clients; above this, each answer waits earlier for its
    /// client.
    pub output_bytes_max: u64,
    /// Memory of all compressors together, in bytes; while none is left, answers go uncompressed.
    pub compress_memory_max: u64,
    /// Bytes of answers that are kept for other clients, with all that belongs to them.
    pub cache_memory_max: u64,
    /// The proxies that are believed, and which of their statements are believed.
    pub trust: Option<Trust>,
    /// Whether connections of these proxies begin with a header of the PROXY protocol.
    pub proxy_headers: bool,
    /// The key that seals connections to groups, so that the door recognises them when they come back. A process
    /// without the key believes every message of its passage.
    pub seal_key: Option<SealKey>,
    /// The line of the `Server` field, with its end; empty for none.
    pub server: Vec<u8>,
}

impl Config {
    /// Whether a client with this address is a proxy that is believed.
    pub(crate) fn trusts(&self, peer: Option<SocketAddr>) -> bool {
        self.trust.as_ref().is_some_and(|trust| trust.has(peer.map(|peer| peer.ip())))
    }

    /// The lines to add to a head of the application: none if it has told the client the id itself.
    pub(crate) fn lines_for<'l>(&self, head: &ResponseHead<'_>, start: usize, lines: &'l [u8]) -> &'l [u8] {
        if lines.is_empty() || head.has(start, &self.request_id_field) { b"" } else { lines }
    }
}

impl Default for Config {
    /// Makes the settings of a server that keeps everything in memory, with timeouts that only a faulty client reaches.
    fn default() -> Config {
        Config {
            head: Limits::default(),
            request_id_field: Vec::new(),
            logs_traces: false,
            refuse_underscores: false,
            body_memory: BodyMemory::new(96 << 20),
            body_files: Quota::new(0),
            temp_dir: std::env::temp_dir(),
            first_byte_timeout_ms: LONG_MS,
            head_timeout_ms: LONG_MS,
            crowded_timeout_ms: LONG_MS,
            connections_max: 10_000,
            connections_per_address_max: 0,
            drain_bytes_max: 64 << 10,
            linger_timeout_ms: LONG_MS,
            graceful_timeout_ms: LONG_MS,
            threads: 4,
            hand_over: HandOver::Auto,
            nice: 0,
            queue_max: 1_000,
            queue_timeout_ms: LONG_MS,
            stream_body_threads_max: 256,
            scripts_max: 64,
            spawn_command: Vec::new(),
            output_bytes_max: 1 << 30,
            compress_memory_max: 1 << 30,
            cache_memory_max: 64 << 20,
            trust: None,
            proxy_headers: false,
            seal_key: None,
            server: Vec::new(),
        }
    }
}
