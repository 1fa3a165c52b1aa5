//! What is asked of a running server from outside, and how it answers.
//!
//! | file | of what |
//! | --- | --- |
//! | `admin`, `dashboard.html` | the control socket and the admin listener |
//! | `access` | who may ask, and for what |
//! | `question`, `rounds` | questions that wait for the supervisor, and questions to all workers |
//! | `client`, `asking` | `adyton status` and other orders, which ask |
//! | `notify` | what a service manager is told |

pub(crate) mod access;
pub(crate) mod admin;
pub(crate) mod asking;
pub(crate) mod client;
pub(crate) mod notify;
pub(crate) mod question;
pub(crate) mod rounds;
