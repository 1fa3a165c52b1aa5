//! Memory of answers that wait for their clients.
//!
//! The memory is counted for all connections together. When they hold more than the settings allow, the unsent bytes of
//! a connection are put into a file without a name, from which the kernel sends them: no answer is lost, and memory is
//! bounded.

use std::io;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

use adyton_log::{self as log, messages};

use crate::client::outbox::Outbox;
use crate::client::output::Output;
use crate::client::stored::Stored;
use crate::config::Config;

/// The memory that one connection holds.
pub(crate) struct Held {
    all_bytes: Arc<AtomicU64>,
    bytes: u64,
}

impl Held {
    /// Makes the count of a connection that holds nothing yet; `all_bytes` counts the memory of all connections.
    pub(crate) fn new(all_bytes: &Arc<AtomicU64>) -> Self {
        Self { all_bytes: Arc::clone(all_bytes), bytes: 0 }
    }

    /// Counts the memory of a connection that waits for its client. Returns whether this connection holds more than
    /// `least` bytes while all connections together hold too much.
    pub(crate) fn is_too_much(&mut self, output: &Output, least: u64, config: &Config) -> bool {
        self.set(output.own_bytes());
        self.bytes > least && self.all_bytes.load(Ordering::Relaxed) > config.output_bytes_max
    }

    /// Puts the waiting answer into a file. A connection for which there is no room is reset.
    pub(crate) fn store(&mut self, outbox: &mut Outbox, config: &Config) {
        let stored = Stored::new(&config.temp_dir, &config.body_files);
        if let Err(error) = stored.and_then(|stored| outbox.output.spill(stored)) {
            complain(&error, config);
            outbox.transport.reset();
        }
        self.set(outbox.output.own_bytes());
    }

    fn set(&mut self, bytes: u64) {
        let before = std::mem::replace(&mut self.bytes, bytes);
        self.all_bytes.fetch_add(bytes, Ordering::Relaxed);
        self.all_bytes.fetch_sub(before, Ordering::Relaxed);
    }
}

impl Drop for Held {
    fn drop(&mut self) {
        self.set(0);
    }
}

fn complain(error: &io::Error, config: &Config) {
    let folder = config.temp_dir.display();
    log::write(
        &messages::ANSWER_NOT_STORED,
        format_args!(
            "clients take their answers slowly, and one cannot be stored in {folder} (settings --temp-dir and \
             --body-files-bytes-max): {error}; it was cut"
        ),
    );
}
