//! Media types by file name.

use std::borrow::Cow;
use std::path::Path;

/// Types of file name endings for which `mime_guess` has no type, or a type that does not suit browsers.
const OWN: &[(&str, &str)] = &[
    ("map", "application/json"),
    ("mjs", "text/javascript; charset=utf-8"),
    ("ts", "text/plain; charset=utf-8"),
    ("tsx", "text/plain; charset=utf-8"),
    ("zst", "application/zstd"),
];

/// The most usual types. Looking here first saves the search in `mime_guess` and an allocation.
const USUAL: &[(&str, &str)] = &[
    ("html", "text/html; charset=utf-8"),
    ("css", "text/css; charset=utf-8"),
    ("js", "text/javascript; charset=utf-8"),
    ("txt", "text/plain; charset=utf-8"),
];

/// The value of `Content-Type` for a file of this name; `application/octet-stream` if the name does not tell the type.
///
/// Text gets `charset=utf-8`, except XML, which states its encoding itself: the parameter would overrule that (RFC 7303
/// section 3.1).
pub fn mime_type(path: &Path) -> Cow<'static, str> {
    let Some(extension) = path.extension().and_then(|extension| extension.to_str()) else {
        return Cow::Borrowed("application/octet-stream");
    };
    let known = USUAL.iter().chain(OWN).find(|(known, _)| extension.eq_ignore_ascii_case(known));
    if let Some((_, value)) = known {
        return Cow::Borrowed(value);
    }
    let guess = mime_guess::from_ext(extension).first_raw().unwrap_or("application/octet-stream");
    if guess.starts_with("text/") && guess != "text/xml" {
        Cow::Owned(format!("{guess}; charset=utf-8"))
    } else {
        Cow::Borrowed(guess)
    }
}
