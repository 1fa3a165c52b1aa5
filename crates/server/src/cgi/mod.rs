//! CGI scripts (RFC 3875): the script for a request, the limit on scripts that run at once, and their states.
//!
//! | file | holds |
//! | --- | --- |
//! | `action` | the scripts of a route, and the script that a path wants |
//! | `order` | the order to start a script: environment and folder |
//! | `places` | the limit on scripts that run at once, and the queue for a place |
//! | `script` | a script that runs: its output, its state, and when its time is over |
//! | `errors` | the standard error of a script, for the error log |
//!
//! `course/resuming/script_events` starts scripts, hears them, and ends each script whose time is over;
//! `course/scripting` has requests wait for a place. `adyton-spawn` makes the process.

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
