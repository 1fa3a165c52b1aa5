//! The helper by which all cases are fed.

use adyton_http::Span;
use adyton_http1::{Head, Limits, Parsed};

/// Number of the rule, description, the bytes, and the expected outcome: a status or the head in words.
pub(crate) type Case = (&'static str, &'static str, &'static [u8], &'static str);

/// Feeds a case that expects a status or [`in_words`].
pub(crate) fn check(case: &Case) {
    let (rule, name, input, expected) = *case;
    feed(&format!("rule {rule}, {name}"), input, &Limits::default(), in_words, expected);
}

/// Feeds a case that expects a status or [`fields_in_words`].
pub(crate) fn check_fields(case: &Case) {
    let (rule, name, input, expected) = *case;
    feed(&format!("rule {rule}, {name}"), input, &Limits::default(), fields_in_words, expected);
}

/// Describes a complete head.
type Describe = fn(&Head, &[u8]) -> String;

/// Feeds `input` whole, with a tail, byte by byte, and like a server that calls `worth_parsing` first.
pub(crate) fn feed(label: &str, input: &[u8], limits: &Limits, describe: Describe, expected: &str) {
    let mut head = Head::new();
    let mut outcome = |input: &[u8]| match head.parse(input, limits) {
        Err(refusal) => refusal.status.to_string(),
        Ok(Parsed::Partial) => "partial".to_owned(),
        Ok(Parsed::Complete) => format!("{} of {} bytes", describe(&head, input), head.bytes()),
    };
    let is_refused = expected.parse::<u16>().is_ok();
    let expected =
        if is_refused { expected.to_owned() } else { format!("{expected} of {} bytes", input.len()) };

    assert_eq!(expected, outcome(input), "{label}, whole");
    let tail = b"GET /tail HTTP/1.1\r\nHost: tail\r\n\r\n";
    assert_eq!(expected, outcome(&[input, tail].concat()), "{label}, with a tail");

    let byte_by_byte: Vec<String> = (0..=input.len()).map(|end| outcome(&input[..end])).collect();
    let settled = byte_by_byte.iter().position(|now| now != "partial");
    let settled = settled.unwrap_or(input.len());
    assert!(
        byte_by_byte[settled..].iter().all(|now| *now == expected),
        "{label}, byte by byte: {byte_by_byte:?}"
    );
    assert!(is_refused || settled == input.len(), "{label}, complete after {settled} bytes");

    let worth = |end: &usize| Head::worth_parsing(&input[end - 1..*end], *end, limits);
    let mut seen = (1..=input.len()).filter(worth).map(|end| byte_by_byte[end].clone());
    let first = seen.find(|now| now != "partial");
    let is_due = !is_refused || settled == 1 || input[settled..].contains(&b'\n');
    assert!(!is_due || first == Some(expected), "{label}, when worth parsing: {first:?}");
}

/// Describes the method, path, query, version, host, framing, connection and expectation of a head.
pub(crate) fn in_words(head: &Head, input: &[u8]) -> String {
    let text = |span: Span| String::from_utf8_lossy(span.of(input)).into_owned();
    format!(
        "{:?} {} ?{} {:?} {} {:?} {}{}",
        head.method,
        text(head.path),
        text(head.query),
        head.version,
        head.host.map_or("-".to_owned(), text),
        head.framing(),
        if head.keep_alive() { "keep" } else { "close" },
        if head.expects_continue() { " expects" } else { "" },
    )
}

/// Lists the name and value of each field, with `~` between them if the name is not plain.
pub(crate) fn fields_in_words(head: &Head, input: &[u8]) -> String {
    let text = |span: Span| span.of(input).escape_ascii().to_string();
    let word = |field: &adyton_http::Field| {
        format!("{}{}{}", text(field.name), if field.plain { '=' } else { '~' }, text(field.value))
    };
    head.fields.as_slice().iter().map(word).collect::<Vec<_>>().join(" ")
}
