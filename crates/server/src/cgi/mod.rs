//! CGI scripts (RFC 3875): the script for a request, the number that run at once, and the state of a running one.

mod action;
mod errors;
mod order;
mod places;
mod script;

pub use action::Cgi;
pub(crate) use action::WantedScript;
pub(crate) use order::{Ends, order};
pub(crate) use places::{Permit, Places, Seat};
pub(crate) use script::{Script, ScriptOutput, ScriptPart, ScriptStage};
