//! CGI scripts: what is run for a request, how many at once, and what is known of one that runs (RFC 3875).

mod action;
mod errors;
mod order;
mod places;
mod script;

pub use action::Cgi;
pub(crate) use action::WantedScript;
pub(crate) use order::{Ends, order};
pub(crate) use places::{Place, Places, Seat};
pub(crate) use script::{Output, Part, Script, Stage};
