//! The language of `httpd.conf`, and the directives that are known.
//!
//! | file | holds |
//! | --- | --- |
//! | `lex`, `line` | lines, sections, included files |
//! | `known`, `reasons` | directives that are not carried over |
//! | `names`, `network` | names of hosts, and addresses |

mod known;
mod lex;
pub(crate) mod line;
mod names;
mod network;
mod reasons;
