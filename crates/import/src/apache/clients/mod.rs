//! Rules that say which clients are let in.
//!
//! | file | holds |
//! | --- | --- |
//! | `access` | `Require`, and `Order`, `Allow`, `Deny` |
//! | `password` | passwords |
//! | `remote` | proxies that are trusted |
//! | `secure` | redirects to https |

pub(crate) mod access;
pub(crate) mod password;
pub(crate) mod remote;
pub(crate) mod secure;
