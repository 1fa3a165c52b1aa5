//! Paths that are answered by the file of another path: a folder by its index, a missing file by a fallback, a path
//! behind the name of a script by the script.
//!
//! The rules of both paths count for such a request. The request has met the rules of its own path before; here it
//! meets the rules of the other path. If no rule distinguishes a route's other paths from the request's own path, the
//! route need not be asked ([`crate::Route::names_others`]).

use adyton_route::{names_above, script_names};

use crate::site::plan::{Action, Route};

/// Returns the names of scripts that may answer a path whose first `own_bytes` are the route's own. Only a look at the
/// disk tells which of them answers.
pub(crate) fn names_of(route: &Route, path: &[u8], own_bytes: usize) -> Vec<Vec<u8>> {
    match (&route.action, &route.scripts_index) {
        // Not all CGI scripts can be told by their names.
        (Action::Cgi(_), _) => names_above(path, own_bytes).map(<[u8]>::to_vec).collect(),
        (_, Some(index)) => script_names(path, own_bytes, index),
        _ => Vec::new(),
    }
}
