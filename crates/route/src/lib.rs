//! Tables that find the site of a host name, and the routes of a path in a site: they are compiled once, then only
//! read.
//!
//! A host is found exactly, else by the longest wildcard, else it is the first site's. Of a path's routes the most
//! specific comes first: an exact one, then the longest prefix, then a suffix, then the prefix of everything; of two
//! equally specific routes, the one that was given first comes first. A route may have conditions on a request beside
//! its path: [`When`].

#![forbid(unsafe_code)]

mod admission;
mod ahead;
mod denied;
mod edits;
mod host;
mod networks;
mod other_names;
mod path;
mod redirect;
mod rewrite;
mod spelling;
mod walk;
mod when;

pub use admission::{Admission, Door};
pub use ahead::{Ahead, AheadRule};
pub use denied::{COMPRESSED_ENDS, DeniedPaths};
pub use edits::HeadEdits;
pub use host::{HostError, HostPattern, Hosts, without_port};
pub use networks::{NetworkError, Networks};
pub use other_names::{SCRIPT_ENDS, index_name, names_above, script_names};
pub use path::{PathPattern, Routes, Tries};
pub use redirect::Location;
pub use rewrite::Rewrites;
pub use spelling::{DotSegment, escaped, raw_bytes, spelled};
pub use walk::{Come, Coming, Other, RouteFacts, coming, other};
pub use when::{Taken, Wanted, When};
