//! Output of scripts, read in one piece and byte by byte, and heads that must never result from it.

use adyton_cgi::{Answer, Head, answer, find_end, status_of};

/// Panics if the head of a script's answer depends on how it was cut into pieces, or if a part of it could pass for
/// more than one field.
pub(crate) fn check(data: &[u8]) {
    let _ = status_of(data);
    let whole = find_end(data, 0);
    let pieces = (0..=data.len()).find_map(|filled| find_end(&data[..filled], filled.saturating_sub(1)));
    assert_eq!(whole, pieces, "{}", crate::show(data));
    let Some((lines, end)) = whole else { return };
    assert!(lines < end && data[lines..end].ends_with(b"\n"), "{}", crate::show(data));
    let head = match Head::parse(&data[..lines]) {
        Ok(head) => head,
        Err(error) => {
            assert!(!error.to_string().chars().any(char::is_control), "for a log: {error:?}");
            return;
        }
    };
    for (name, value) in &head.fields {
        let breaks = |byte: &u8| matches!(byte, b'\r' | b'\n' | 0);
        assert!(!name.is_empty() && !name.iter().any(|byte| breaks(byte) || matches!(byte, b' ' | b':')));
        assert!(!value.iter().any(breaks), "{}", crate::show(value));
    }
    match answer(&head) {
        Ok(Answer::Document { status, .. }) => assert!((200..600).contains(&status)),
        Ok(Answer::LocalRedirect(path)) => assert!(path.starts_with(b"/") && head.status.is_none()),
        Err(error) => assert!(!error.to_string().chars().any(char::is_control), "for a log: {error:?}"),
    }
}
