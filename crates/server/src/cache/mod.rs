//! Answers that are kept for other clients.
//!
//! | file | of what |
//! | --- | --- |
//! | `store` | the answers, for all loops of a process |
//! | `key` | what of a request an answer depends on |
//! | `looking` | whether a request is answered with what is kept |
//! | `wanting` | requests that wait for the answer to another |
//! | `keeping` | what the cache wants of an answer that is not there yet |

pub(crate) mod keeping;
pub(crate) mod key;
pub(crate) mod looking;
pub(crate) mod store;
pub(crate) mod wanting;
