//! A reason that stands beside or in the place of figures.

use serde::{Deserialize, Serialize};

/// Why the figures must not be used.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Reason {
    /// Which gate it is, in a word.
    pub gate: &'static str,
    /// What was seen, and what it means.
    pub why: String,
}
