//! The language of `httpd.conf`, and the directives that are known.
//!
//! | file | holds |
//! | --- | --- |
//! | `lex`, `line` | lines, sections, included files |
//! | `known`, `reasons` | directives that are not carried over |
//! | `names`, `network` | names of hosts, and addresses |

pub(super) mod known;
pub(super) mod lex;
pub(crate) mod line;
pub(super) mod names;
pub(super) mod network;
mod reasons;
