//! Paths of files that may answer in the place of a request's own path: a folder is answered by its index, and the path
//! behind the name of a script by the script.

/// Endings of the names of Python scripts that may answer the paths behind them.
pub const SCRIPT_ENDS: [&[u8]; 2] = [b".py", b".wsgi"];

/// Returns the paths above `path` at which there may be a script that answers for `path`, the topmost first; the first
/// `own_bytes` of the path are the route's own.
pub fn names_above(path: &[u8], own_bytes: usize) -> impl Iterator<Item = &[u8]> {
    memchr::memchr_iter(b'/', path).filter(move |&at| at > own_bytes).map(|at| &path[..at])
}

/// Returns the path of the file with the name `index` that may answer for a folder with this path.
pub fn index_name(path: &[u8], index: &[u8]) -> Option<Vec<u8>> {
    path.ends_with(b"/").then(|| [path, index].concat())
}

/// Returns the names of Python scripts that may answer a path of a folder of such scripts: each path above it with one
/// of [`SCRIPT_ENDS`], and the path of the index. Only a look at the disk tells which of them answers.
pub fn script_names(path: &[u8], own_bytes: usize, index: &[u8]) -> Vec<Vec<u8>> {
    let is_script = |name: &&[u8]| SCRIPT_ENDS.iter().any(|end| name.ends_with(end));
    let above = names_above(path, own_bytes).filter(is_script).map(<[u8]>::to_vec);
    above.chain(index_name(path, index)).collect()
}

#[cfg(test)]
mod tests {
    use super::script_names;

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
            let names = script_names(path.as_bytes(), "/pages".len(), b"index.py");

            assert_eq!(expected, names.iter().map(|name| String::from_utf8_lossy(name)).collect::<Vec<_>>());
        }
    }
}
