//! Rules that say which clients are let in.
//!
//! | file | holds |
//! | --- | --- |
//! | `access` | `Require`, and `Order`, `Allow`, `Deny` |
//! | `password` | passwords |
//! | `remote` | proxies that are trusted |
//! | `secure` | redirects to https |

mod access;
mod password;
mod remote;
mod secure;
