//! The parts that all versions of HTTP have in common, without I/O: methods, fields, requests, response heads
//! (RFC 9110).
//!
//! A codec, such as `adyton-http1`, turns the bytes of a connection into a [`RequestHead`], and turns a
//! [`ResponseHead`] into bytes. The code that answers reads a [`Request`] and fills a [`ResponseHead`]; both are the
//! same for every protocol.

#![forbid(unsafe_code)]

pub mod authority;
mod bad_response;
pub mod bytes;
mod field;
mod known;
mod method;
mod request;
mod response;
mod span;
mod status;
mod version;
mod weights;

pub use bad_response::BadResponse;
pub use field::{Field, Fields};
pub use known::Known;
pub use method::Method;
pub use request::{Request, RequestHead};
pub use response::{BodySize, CheckedField, HeadFacts, Identity, ResponseHead, check_status};
pub use span::Span;
pub use status::reason_phrase;
pub use version::Version;
pub use weights::find_weight;
