//! Answers that are kept for other clients.
//!
//! | file | holds |
//! | --- | --- |
//! | `store` | the answers, for all loops of a process |
//! | `key` | the parts of a request that an answer depends on |
//! | `looking` | the search for a kept answer |
//! | `wanting` | requests that wait for the answer to another request |
//! | `keeping` | the plans of the cache for an answer that is still to come |

pub(crate) mod keeping;
pub(crate) mod key;
pub(crate) mod looking;
pub(crate) mod store;
pub(crate) mod wanting;
