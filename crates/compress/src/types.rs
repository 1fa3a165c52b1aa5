//! Media types whose content gets smaller when it is compressed.

/// Types that get smaller, besides `text/…`, `…+json` and `…+xml`. Compressing content that is already compressed
/// (pictures, films, archives, web fonts) would only cost time.
const TYPES: [&str; 25] = [
    "application/ecmascript",
    "application/graphql",
    "application/javascript",
    "application/json",
    "application/jsonlines",
    "application/rtf",
    "application/sql",
    "application/toml",
    "application/vnd.apple.mpegurl",
    "application/vnd.ms-fontobject",
    "application/wasm",
    "application/x-javascript",
    "application/x-ndjson",
    "application/x-protobuf",
    "application/x-sh",
    "application/x-yaml",
    "application/xml",
    "application/xml-dtd",
    "application/yaml",
    "font/collection",
    "font/otf",
    "font/ttf",
    "image/bmp",
    "image/vnd.microsoft.icon",
    "image/x-icon",
];

/// A text type that is not coded: its answers last for hours, and each would keep a compressor in memory to save a few
/// bytes of each small event.
const EVENTS: &str = "text/event-stream";

/// Whether content of this type gets much smaller; parameters in the value of `Content-Type` do not matter.
pub fn gains(content_type: &[u8]) -> bool {
    let essence = content_type.split(|&byte| byte == b';').next().unwrap_or_default().trim_ascii();
    let is = |name: &str| essence.eq_ignore_ascii_case(name.as_bytes());
    let ends = |end: &[u8]| {
        essence.len().checked_sub(end.len()).is_some_and(|at| essence[at..].eq_ignore_ascii_case(end))
    };
    let is_text = essence.get(..5).is_some_and(|begin| begin.eq_ignore_ascii_case(b"text/"));
    is_text && !is(EVENTS) || ends(b"+json") || ends(b"+xml") || TYPES.iter().any(|name| is(name))
}

#[cfg(test)]
mod tests {
    use super::gains;

    #[test]
    fn text_gains_and_pictures_do_not() {
        for content_type in [
            "text/html",
            "Text/HTML; charset=utf-8",
            " application/json ;charset=utf-8",
            "application/ld+json",
            "image/svg+xml",
            "application/wasm",
            "font/ttf",
        ] {
            assert!(gains(content_type.as_bytes()), "{content_type}");
        }
        for content_type in [
            "",
            "text",
            "json",
            "image/png",
            "application/octet-stream",
            "application/zip",
            "font/woff2",
            "video/mp4",
            "text/event-stream; charset=utf-8",
            "application/json-not",
            "multipart/form-data; boundary=text/html",
        ] {
            assert!(!gains(content_type.as_bytes()), "{content_type}");
        }
    }
}
