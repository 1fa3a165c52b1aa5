//! Paths that are answered by the file of another path: a folder by its index, a missing file by a fallback, a path
//! behind the name of a script by the script.
//!
//! The rules of both paths count for such a request. The rules of its own path have been met before; here it meets the
//! rules of the other path. A route whose other paths no rule can tell apart from the request's own is not asked at all
//! ([`crate::Route::names_others`]).

use crate::site::plan::{Action, Route, SCRIPT_ENDS};

/// The route of another path, as far as it differs from the request's own.
pub(crate) enum Other<'p> {
    /// The other path has the request's own route.
    Nothing,
    /// The other path has a route of its own.
    Route(&'p Route),
    /// The other path has no route.
    Nowhere,
}

/// Returns the names of scripts that may answer a path of a folder of scripts, whose first `prefix_bytes` are the
/// route's own: the name at each segment that may be a script, and the name of an index. Only a look at the disk tells
/// which of them answers.
pub(crate) fn scripts_of(path: &[u8], prefix_bytes: usize, index: &[u8]) -> Vec<Vec<u8>> {
    let is_script = |name: &&[u8]| SCRIPT_ENDS.iter().any(|end| name.ends_with(end));
    let slashes = memchr::memchr_iter(b'/', path).filter(|&at| at > prefix_bytes);
    let mut names: Vec<Vec<u8>> =
        slashes.map(|at| &path[..at]).filter(is_script).map(<[u8]>::to_vec).collect();
    if path.ends_with(b"/") {
        names.push([path, index].concat());
    }
    names
}

/// Returns names like [`scripts_of`] for a route with any kind of scripts, not all of which can be told by their names.
pub(crate) fn names_of(route: &Route, path: &[u8], prefix_bytes: usize) -> Vec<Vec<u8>> {
    match (&route.action, &route.scripts_index) {
        (Action::Cgi(_), _) => {
            let slashes = memchr::memchr_iter(b'/', path).filter(|&at| at > prefix_bytes);
            slashes.map(|at| path[..at].to_vec()).collect()
        }
        (_, Some(index)) => scripts_of(path, prefix_bytes, index),
        _ => Vec::new(),
    }
}

#[cfg(test)]
mod tests {
    use super::scripts_of;

    #[test]
    fn scripts() {
        for (path, expected) in [
            ("/pages/a.py", &[][..]),
            ("/pages/a.py/x", &["/pages/a.py"]),
            ("/pages/a.py/b.wsgi/x", &["/pages/a.py", "/pages/a.py/b.wsgi"]),
            ("/pages/", &["/pages/index.py"]),
            ("/pages", &[]),
            ("/pages/a.py/", &["/pages/a.py", "/pages/a.py/index.py"]),
            ("/pages/a.pyc/x", &[]),
        ] {
            let names = scripts_of(path.as_bytes(), "/pages".len(), b"index.py");

            assert_eq!(expected, names.iter().map(|name| String::from_utf8_lossy(name)).collect::<Vec<_>>());
        }
    }
}
