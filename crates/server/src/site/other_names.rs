//! Paths that are answered by what another path names: a folder by its index, a missing file by a fallback, what stands behind
//! the name of a script by the script.
//!
//! Such a request has to do with the rules of both paths. Those of its own it has met when this is asked; here it meets those
//! of the other one. A route that other rules cannot tell apart from the request's own is not asked at all
//! ([`crate::Route::names_others`]).

use crate::site::plan::{Action, Route, SCRIPT_ENDS};

/// What a path has around it that another one has not.
pub(crate) enum Other<'p> {
    /// Nothing.
    Nothing,
    /// A route of its own.
    Route(&'p Route),
    /// No route is for it.
    Nowhere,
}

/// The names of scripts that may answer a path of a folder of scripts, whose first `prefix_bytes` are the route's own: those of
/// each segment that may be a script, and that of an index. Which of them does is known only to whoever looks at the disk.
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

/// The same of whatever scripts a route has, of which not all may be told by their names.
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
