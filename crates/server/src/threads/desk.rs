//! Buffers of a thread that drives a loop, or calls the application.

use adyton_http1::Head;

use crate::answering::exchange::Exchange;
use crate::config::Config;
use crate::threads::endpoints::LastEndpoint;

/// A driver's buffers for one connection at a time.
pub(crate) struct Desk {
    pub(crate) buffer: Box<[u8]>,
    pub(crate) head: Head,
    /// An output buffer that waits for its next connection.
    pub(crate) spare: Vec<u8>,
    /// An exchange that waits for its next request.
    pub(crate) exchange: Option<Box<Exchange>>,
    pub(crate) endpoint: LastEndpoint,
}

impl Desk {
    /// Makes a desk whose buffer holds a whole head of the largest size, and the bytes that usually follow it.
    pub(crate) fn new(config: &Config) -> Self {
        let bytes = config.head.head_bytes_max + (64 << 10);
        Self {
            buffer: vec![0; bytes].into(),
            head: Head::new(),
            spare: Vec::new(),
            exchange: None,
            endpoint: LastEndpoint::default(),
        }
    }

    /// Takes the exchange whose request the application is to answer.
    pub(crate) fn take_exchange(&mut self) -> Box<Exchange> {
        self.exchange.take().unwrap_or_else(Exchange::empty)
    }

    /// Keeps the exchange of an answered request for the next one.
    pub(crate) fn keep_exchange(&mut self, mut exchange: Box<Exchange>) {
        exchange.clear();
        self.exchange = Some(exchange);
    }
}
