//! Reports in forms for people and for programs.
//!
//! Each form says the same: what was asked, the figures or why they do not count, and where every request went.

mod comparison;
mod csv;
mod hlog;
mod html;
mod lines;
mod markdown;
mod plot;
mod table;
mod texts;

pub use comparison::{SEARCH_HEADING, compared, reasons, tried};
pub use csv::csv;
pub use hlog::hlog;
pub use html::html;
pub use markdown::{Judged, markdown};
pub use table::{Ink, table};
