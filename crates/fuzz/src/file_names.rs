//! A simple reference implementation of the way from URL path to file name, on a stack of whole segments, and the
//! invariants of every name.

use std::ffi::OsStr;
use std::os::unix::ffi::OsStrExt;
use std::path::{Component, Path};

use adyton_files::path::FilePath;

/// Panics unless `raw` names the file that the reference finds, and that file is beneath the root.
pub(crate) fn check(raw: &[u8]) {
    let found = FilePath::parse(raw).ok();
    let twin = naive(raw);
    let ours = found.as_ref().map(|path| (path.relative().to_vec(), path.names_folder()));
    assert_eq!(twin, ours, "{}", crate::show(raw));
    let Some(path) = found else { return };
    let name = path.relative();
    let as_path = Path::new(OsStr::from_bytes(name));
    let is_beneath = as_path.components().all(|part| matches!(part, Component::Normal(_)));
    assert!(is_beneath && !name.contains(&0), "{}", as_path.display());
    let expected = if name.is_empty() { b"." } else { name };
    assert_eq!(expected, path.to_c().as_bytes(), "the kernel gets what was judged");
    // A name whose bytes are all escaped must stand for the name itself: a second decoding anywhere would change it.
    let escaped: String =
        name.iter().map(|&b| if b == b'/' { "/".into() } else { format!("%{b:02X}") }).collect();
    let again = FilePath::parse(format!("/{escaped}").as_bytes()).expect("a name that was taken before");
    assert_eq!(name, again.relative());
}

/// Returns the name, and whether only a folder can have this name.
fn naive(raw: &[u8]) -> Option<(Vec<u8>, bool)> {
    let (mut stack, mut names_folder) = (Vec::new(), false);
    for segment in raw.split(|&byte| byte == b'/') {
        let name = decode(segment)?;
        names_folder = !raw.is_empty() && [&b""[..], b".", b".."].contains(&name.as_slice());
        match name.as_slice() {
            b"" | b"." => {}
            b".." => drop(stack.pop()?),
            _ => stack.push(name),
        }
    }
    let is_fine =
        |(depth, name): (usize, &Vec<u8>)| is_published(name) || (depth == 0 && name == b".well-known");
    stack.iter().enumerate().all(is_fine).then(|| (stack.join(&b'/'), names_folder))
}

/// Decodes the escapes of a segment; `None` when one is broken, or hides a byte that no file name should have.
fn decode(segment: &[u8]) -> Option<Vec<u8>> {
    let (mut name, mut rest) = (Vec::new(), segment);
    while let [byte, more @ ..] = rest {
        let (decoded, behind) = match (byte, more) {
            (b'%', [a, b, more @ ..]) if a.is_ascii_hexdigit() && b.is_ascii_hexdigit() => {
                (u8::from_str_radix(str::from_utf8(&[*a, *b]).ok()?, 16).ok()?, more)
            }
            (b'%' | b'\\' | 0..=31 | 127, _) => return None,
            _ => (*byte, more),
        };
        name.push(decoded);
        rest = behind;
    }
    (!name.contains(&b'/') && !name.contains(&0)).then_some(name)
}

/// Whether a file of this name may be served (rule 44).
fn is_published(name: &[u8]) -> bool {
    let name = name.to_ascii_lowercase();
    let ends = ".py .pyc .pyi .pyo .pyw .pyx .wsgi ~ .bak .orig .rej .save .swn .swo .swp";
    let names = "__pycache__ _darcs cvs rcs sccs";
    let is_autosave = name.len() > 1 && name.starts_with(b"#") && name.ends_with(b"#");
    !name.starts_with(b".")
        && !is_autosave
        && !ends.split(' ').any(|end| name.ends_with(end.as_bytes()))
        && !names.split(' ').any(|other| name == other.as_bytes())
}
