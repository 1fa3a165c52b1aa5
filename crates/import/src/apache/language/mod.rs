//! The language of `httpd.conf`, and the directives that are known.
//!
//! | file | holds |
//! | --- | --- |
//! | `lex`, `line` | lines, sections, included files |
//! | `known`, `reasons` | directives that are not carried over |
//! | `names`, `network` | names of hosts, and addresses |

pub(crate) mod known;
pub(crate) mod lex;
pub(crate) mod line;
pub(crate) mod names;
pub(crate) mod network;
mod reasons;
