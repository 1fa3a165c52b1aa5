//! The spelling of a route's path.

use adyton_route::{PathPattern, spelled};

/// Reads `/a` (this path alone), `/a/` (this path and all beneath it), `*.php` (all paths with that suffix), or `/`
/// (everything).
///
/// # Errors
///
/// Half a sentence that says how a path is written.
pub(crate) fn read(text: &str) -> Result<PathPattern, String> {
    let bytes = |text: &str| text.as_bytes().into();
    if let Some(end) = text.strip_prefix('*') {
        return if end.is_empty() || end.contains(['*', '/', '?', '#', '%']) {
            Err("behind * stands the suffix of paths, as in *.php; / is for all paths".to_owned())
        } else {
            Ok(PathPattern::Suffix(bytes(end)))
        };
    }
    if !text.starts_with('/') {
        return Err("a path begins with a slash, or with * as in *.php".to_owned());
    }
    if let Some(sign) = text.chars().find(|sign| matches!(sign, '?' | '#' | '*')) {
        let hint = if sign == '?' { "; if-query is for the query" } else { "" };
        return Err(format!("a path has no {sign}{hint}"));
    }
    match spelled(text.as_bytes()) {
        Err(_) => return Err("a path has no . or .. as a segment".to_owned()),
        Ok(other) if *other != *text.as_bytes() => {
            let other = String::from_utf8_lossy(&other);
            return Err(format!("requests are compared in their decoded form; write {other}"));
        }
        Ok(_) => {}
    }
    Ok(match text.strip_suffix('/') {
        Some(prefix) => PathPattern::Prefix(bytes(prefix)),
        None => PathPattern::Exact(bytes(text)),
    })
}

/// Writes a path as [`read`] takes it.
pub(crate) fn written(path: &PathPattern) -> String {
    match path {
        PathPattern::Exact(path) => String::from_utf8_lossy(path).into_owned(),
        PathPattern::Prefix(prefix) => format!("{}/", String::from_utf8_lossy(prefix)),
        PathPattern::Suffix(end) => format!("*{}", String::from_utf8_lossy(end)),
    }
}
