//! A reason that is shown beside figures, or in their place.

use serde::{Deserialize, Serialize};

/// Why the figures must not be used.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Reason {
    /// The gate, in a word.
    pub gate: &'static str,
    /// The observation, and its meaning.
    pub why: String,
}
