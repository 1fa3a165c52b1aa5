//! A reference implementation of `Cache-Control`, and the invariants of every answer that is kept.

use adyton_cache::{Control, Rules, judge};

/// Panics unless these lines of `Cache-Control` are read as the reference reads them; lines with quotes are not
/// compared.
pub(crate) fn check_control(lines: &[u8]) {
    let mut control = Control::default();
    for line in lines.split(|&byte| byte == b'\n') {
        control.read(line);
    }
    if lines.contains(&b'"') {
        return;
    }
    let words: Vec<Vec<u8>> = lines
        .split(|&byte| byte == b'\n' || byte == b',')
        .map(|word| {
            word.split(|&byte| byte == b'=').next().unwrap_or_default().trim_ascii().to_ascii_lowercase()
        })
        .collect();
    let has = |word: &str| words.iter().any(|other| other == word.as_bytes());
    let expected = (has("no-store"), has("no-cache"), has("private"), has("public"));
    let revalidates = has("must-revalidate") || has("proxy-revalidate");

    assert_eq!(expected, (control.no_store, control.no_cache, control.private, control.public));
    assert_eq!(revalidates, control.must_revalidate);
    assert_eq!(has("max-age"), control.max_age_s.is_some());
    assert_eq!(has("s-maxage"), control.s_maxage_s.is_some());
}

/// Panics if an answer with these fields, one a line, is kept although they forbid it.
pub(crate) fn check_head(lines: &[u8]) {
    let head = [b"HTTP/1.1 200 OK\r\n", lines, b"\r\n\r\n"].concat();
    let Ok(terms) = judge(&head, Rules { fresh_ms: 1000, with_cookies: true }, true) else { return };
    let end = head.split(|&byte| byte == b'\n').skip(1).take_while(|line| !line.trim_ascii_end().is_empty());
    for line in end {
        let lower = line.trim_ascii_end().to_ascii_lowercase();

        assert!(!lower.starts_with(b"set-cookie:"), "{}", crate::show(&head));
        assert!(lower != b"cache-control:no-store", "{}", crate::show(&head));
    }
    assert!(terms.vary.is_sorted() && terms.age_ms < terms.fresh_ms + terms.revalidate_ms);
}
