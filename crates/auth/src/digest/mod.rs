//! The Digest scheme (RFC 7616).
//!
//! | file | holds |
//! | --- | --- |
//! | `scheme` | the scheme as a whole |
//! | `answer` | the answer of a client to a challenge |
//! | `algorithm` | the hashes |
//! | `nonces`, `signing` | nonces, and the signatures in them |

pub(crate) mod algorithm;
pub(crate) mod answer;
mod nonces;
pub(crate) mod scheme;
pub(crate) mod signing;
