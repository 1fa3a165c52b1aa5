//! What a thread works with while it drives a loop, and while it calls the application.

use adyton_http1::Head;

use crate::config::Config;

/// What a driver needs for one connection at a time.
pub(crate) struct Desk {
    pub(crate) buffer: Box<[u8]>,
    pub(crate) head: Head,
    /// An output buffer that waits for its next connection.
    pub(crate) spare: Vec<u8>,
}

impl Desk {
    /// The buffer holds a whole head of the largest size, and what usually follows it.
    pub(crate) fn new(config: &Config) -> Self {
        let bytes = config.head.head_bytes_max + (64 << 10);
        Self { buffer: vec![0; bytes].into(), head: Head::new(), spare: Vec::new() }
    }
}
