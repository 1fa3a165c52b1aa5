//! Limits, rules 6 and 14: each is tested at the limit and one byte or field above it.

#![allow(clippy::unwrap_used, reason = "an error here is a failed test")]

use adyton_http1::{FIELDS_MAX, Head, Limits, Parsed};

use crate::feed::{feed, in_words};

const OK: &str = "Get / ? Http10 - None close";

/// Limits so small that a head can be fed byte by byte in no time.
const SMALL: Limits = Limits { line_bytes_max: 40, field_bytes_max: 30, head_bytes_max: 120, fields_max: 3 };

#[test]
fn request_line() {
    let with_target = |bytes: usize| format!("GET /{} HTTP/1.0\r\n\r\n", "a".repeat(bytes - 1));
    let expected = OK.replace('/', &format!("/{}", "a".repeat(26)));
    feed("rule 6, line of 40 bytes", with_target(27).as_bytes(), &SMALL, in_words, &expected);
    for bytes in [28, 29, 30, 100, 5000] {
        feed("rule 6, longer line", with_target(bytes).as_bytes(), &SMALL, in_words, "414");
    }
    feed("rule 6, with CRLF before", format!("\r\n{}", with_target(28)).as_bytes(), &SMALL, in_words, "414");
    let version = format!("GET / HTTP/1.0{}\r\n\r\n", " ".repeat(50));
    feed("rule 3, blanks at the end", version.as_bytes(), &SMALL, in_words, "400");
}

#[test]
fn field() {
    let with_value = |bytes: usize| format!("GET / HTTP/1.0\r\nB: {}\r\nC: d\r\n\r\n", "a".repeat(bytes - 3));
    feed("rule 14, field of 30 bytes", with_value(30).as_bytes(), &SMALL, in_words, OK);
    for bytes in [31, 32, 33, 90, 5000] {
        feed("rule 14, longer field", with_value(bytes).as_bytes(), &SMALL, in_words, "431");
    }
    let name = format!("GET / HTTP/1.0\r\n{}: b\r\n\r\n", "a".repeat(40));
    feed("rule 14, long name", name.as_bytes(), &SMALL, in_words, "431");
    let blanks = format!("GET / HTTP/1.0\r\nB:{}\r\n\r\n", " ".repeat(40));
    feed("rule 14, blanks count", blanks.as_bytes(), &SMALL, in_words, "431");
}

#[test]
fn head() {
    let limits = Limits { fields_max: 100, ..SMALL };
    let with_bytes = |bytes: usize| {
        format!(
            "GET / HTTP/1.0\r\n{}{}\r\n\r\n",
            "A: b\r\n".repeat(15),
            "B: ".to_owned() + &"c".repeat(bytes - 113)
        )
    };
    feed("rule 14, head of 120 bytes", with_bytes(120).as_bytes(), &limits, in_words, OK);
    for bytes in [121, 122, 123, 124] {
        feed("rule 14, longer head", with_bytes(bytes).as_bytes(), &limits, in_words, "431");
    }
}

#[test]
fn fields() {
    let with_fields = |fields: usize| format!("GET / HTTP/1.0\r\n{}\r\n", "A: b\r\n".repeat(fields));
    feed("rule 14, 3 fields", with_fields(3).as_bytes(), &SMALL, in_words, OK);
    feed("rule 14, 4 fields", with_fields(4).as_bytes(), &SMALL, in_words, "431");
    feed("rule 14, 17 fields", with_fields(17).as_bytes(), &SMALL, in_words, "431");
    feed("rule 14, 100 fields", with_fields(100).as_bytes(), &Limits::default(), in_words, OK);
    feed("rule 14, 101 fields", with_fields(101).as_bytes(), &Limits::default(), in_words, "431");
    let limits = Limits { fields_max: usize::MAX, ..Limits::default() };
    feed("rule 14, most fields of all", with_fields(FIELDS_MAX).as_bytes(), &limits, in_words, OK);
    feed("rule 14, one more", with_fields(FIELDS_MAX + 1).as_bytes(), &limits, in_words, "431");
}

/// The default limits are 8 KiB for the request line, 8 KiB for a field line, 64 KiB for a head, and 100 fields.
#[test]
fn defaults() {
    let status = |input: &str| {
        Head::new().parse(input.as_bytes(), &Limits::default()).map_err(|refusal| refusal.status)
    };
    let line = |bytes: usize| format!("GET /{} HTTP/1.0\r\n\r\n", "a".repeat(bytes - 14));
    assert_eq!(Ok(Parsed::Complete), status(&line(8192)));
    assert_eq!(Err(414), status(&line(8193)));

    let field = |bytes: usize| format!("GET / HTTP/1.0\r\nB: {}\r\n\r\n", "a".repeat(bytes - 3));
    assert_eq!(Ok(Parsed::Complete), status(&field(8192)));
    assert_eq!(Err(431), status(&field(8193)));

    let head = |bytes: usize| {
        format!(
            "GET / HTTP/1.0\r\n{}B: {}\r\n\r\n",
            format!("A: {}\r\n", "a".repeat(8000)).repeat(8),
            "a".repeat(bytes - 64063)
        )
    };
    assert_eq!(Ok(Parsed::Complete), status(&head(65536)));
    assert_eq!(Err(431), status(&head(65537)));
}

/// The largest possible limits do not overflow.
#[test]
fn no_limits() {
    let limits = Limits {
        line_bytes_max: usize::MAX,
        field_bytes_max: usize::MAX,
        head_bytes_max: usize::MAX,
        fields_max: usize::MAX,
    };
    feed("no limits", b"\r\nGET / HTTP/1.0\r\nA: b\r\n\r\n", &limits, in_words, OK);
}

/// A line that never ends is refused soon after its limit, and is parsed only rarely before that.
#[test]
fn endless_lines_cost_little() {
    let limits = Limits::default();
    for (start, status, bytes_max) in
        [("GET /", 414, 8192), ("GET / HTTP/1.1\r\nA: b\r\nC: ", 431, 8192 + 30)]
    {
        let input = start.to_owned() + &"a".repeat(70_000);
        let input = input.as_bytes();
        let looks: Vec<usize> = (1..=input.len())
            .filter(|&end| Head::worth_parsing(&input[end - 1..end], end, &limits))
            .collect();
        let refused = looks.iter().find(|&&end| Head::new().parse(&input[..end], &limits).is_err());

        assert!((bytes_max..bytes_max + 1500).contains(refused.unwrap()), "{refused:?}");
        // The bound allows for 512 parses of a short head, and one for each further KiB.
        assert!(looks.iter().filter(|&&end| end < limits.head_bytes_max).count() < 600);
        let passed = (1..=input.len()).find(|&end| Head::passes_line_limit(&input[..end], &limits));
        assert!((8192..8192 + 32).contains(&passed.unwrap()), "{passed:?}");
        assert_eq!(Err(status), Head::new().parse(input, &limits).map_err(|refusal| refusal.status));
    }
}

/// However many bytes come at once, parsing is due while the head is short, and when a KiB, a line end or the limit is
/// passed.
#[test]
fn looks_at_pieces() {
    let limits = Limits::default();
    let piece = [b'a'; 700];
    assert!(Head::worth_parsing(&piece, 700, &limits));
    assert!(Head::worth_parsing(&piece, 1400, &limits));
    assert!(Head::worth_parsing(&piece[..1], 512, &limits));
    assert!(!Head::worth_parsing(&piece[..100], 2040, &limits));
    assert!(Head::worth_parsing(&piece[..100], 2100, &limits));
    assert!(Head::worth_parsing(b"aaa\naaa", 2000, &limits));
    assert!(Head::worth_parsing(b"a", 65_536, &limits));
    assert!(Head::worth_parsing(b"a", 65_900, &limits));
}
