//! Rules that say which clients are let in.
//!
//! | file | holds |
//! | --- | --- |
//! | `access` | `Require`, and `Order`, `Allow`, `Deny` |
//! | `password` | passwords |
//! | `remote` | proxies that are trusted |
//! | `secure` | redirects to https |

pub(super) mod access;
pub(super) mod password;
pub(super) mod remote;
pub(super) mod secure;
