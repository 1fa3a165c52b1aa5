//! Questions to all workers.

use std::sync::mpsc::Sender;

use serde_json::Value;

use crate::question::Answer;

/// A question to all workers.
pub(crate) struct Round {
    pub(crate) number: u64,
    pub(crate) due_ms: u64,
    /// Slots and processes.
    pub(crate) waiting: Vec<(usize, u32)>,
    pub(crate) answers: Vec<Value>,
    pub(crate) reply: Sender<Answer>,
}
