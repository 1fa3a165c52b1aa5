//! Questions and orders to a running server from outside, and its answers.
//!
//! | file | holds |
//! | --- | --- |
//! | `admin`, `dashboard.html` | the control socket and the admin listener |
//! | `access` | the clients that may ask, and their questions |
//! | `question`, `rounds` | questions that wait for the supervisor, and questions to all workers |
//! | `client`, `asking` | `adyton status` and the other orders: the asking side |
//! | `notify` | notices to a service manager |

pub(crate) mod access;
pub(crate) mod admin;
pub(crate) mod asking;
pub(crate) mod client;
pub(crate) mod notify;
pub(crate) mod question;
pub(crate) mod rounds;
