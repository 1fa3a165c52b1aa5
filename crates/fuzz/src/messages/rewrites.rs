//! Invariants of every path that a rule changes.

use adyton_route::{PathPattern, Rewrites, spelled};

/// Panics unless rules change a path as they say, into characters that need no escape in a request.
pub(crate) fn check(bytes: &[u8]) {
    let Ok(path) = spelled(bytes) else { return };
    let mut rules = Rewrites::default();
    rules.add_path(PathPattern::Prefix(b"/a"[..].into()), "/b/").expect("a right rule");
    rules.add_expression("(?s)^/r/(.*)$", "/{1}").expect("a right rule");
    rules.add_expression("(?s)^/q/(.*)$", "/q?all={1}&b").expect("a right rule");
    let Some(target) = rules.target(&path, b"own=1") else { return };
    assert!(target.iter().all(u8::is_ascii_graphic), "{}", crate::show(&target));
    assert!(target.starts_with(b"/") && !target.starts_with(b"//"), "{}", crate::show(&target));
    let query = target.iter().position(|&byte| byte == b'?').expect("the request's own query stays");
    let expected = if let Some(rest) = path.strip_prefix(b"/r/") {
        [b"/", rest].concat()
    } else if path.starts_with(b"/q/") {
        b"/q".to_vec()
    } else {
        [b"/b", &path[2..]].concat()
    };
    // A target has one path, and the one spelling of a path has single slashes.
    match spelled(&target[..query]) {
        Ok(made) => assert_eq!(crate::show(&folded(&expected)), crate::show(&made)),
        Err(_) => assert!(expected.split(|&byte| byte == b'/').any(|part| part == b"." || part == b"..")),
    }
    assert!(target.ends_with(b"own=1"), "{}", crate::show(&target));
    assert_eq!(1, target[query..].iter().filter(|&&byte| byte == b'?').count());
}

/// Returns a path with single slashes.
fn folded(path: &[u8]) -> Vec<u8> {
    let mut out: Vec<u8> = Vec::new();
    for &byte in path {
        if byte != b'/' || out.last() != Some(&b'/') {
            out.push(byte);
        }
    }
    out
}
