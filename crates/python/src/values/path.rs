//! The path of a request as an application sees it: percent-decoded bytes.

use std::borrow::Cow;

use percent_encoding::percent_decode;

/// Decodes `%XX` once; `merge` folds runs of slashes into one. An empty path is `/` (RFC 9112
/// section 3.2.1).
pub(crate) fn decoded_path(raw: &[u8], merge: bool) -> Cow<'_, [u8]> {
    if raw.is_empty() {
        return Cow::Borrowed(b"/");
    }
    let decoded: Cow<'_, [u8]> =
        if memchr::memchr(b'%', raw).is_some() { percent_decode(raw).into() } else { Cow::Borrowed(raw) };
    if merge && decoded.windows(2).any(|pair| pair == b"//") {
        let mut merged = decoded.into_owned();
        merged.dedup_by(|one, before| *one == b'/' && *before == b'/');
        return Cow::Owned(merged);
    }
    decoded
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The path must be decoded only once, and runs of slashes must be kept unless `merge` is set.
    #[test]
    fn decodes_once() {
        let cases: [(&[u8], bool, &[u8]); 8] = [
            (b"", false, b"/"),
            (b"/plain", false, b"/plain"),
            (b"/a%20b", false, b"/a b"),
            (b"/%2520", false, b"/%20"),
            (b"/%zz%4", false, b"/%zz%4"),
            (b"/caf%C3%A9", false, b"/caf\xc3\xa9"),
            (b"//a///b", false, b"//a///b"),
            (b"//a%2F/b", true, b"/a/b"),
        ];
        for (raw, merge, expected) in cases {
            assert_eq!(decoded_path(raw, merge).as_ref(), expected, "{}", raw.escape_ascii());
        }
    }
}
