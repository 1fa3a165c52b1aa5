//! Cases: chunks, extensions and trailers, rules 22 to 25.

use crate::{Outcome, check, twin::assert_agrees};

/// Number of the rule, description, the stream, and the body; `None` if the stream must be refused.
type Case = (&'static str, &'static str, &'static [u8], Option<&'static [u8]>);

const CASES: &[Case] = &[
    ("22", "one chunk", b"5\r\nhello\r\n0\r\n\r\n", Some(b"hello")),
    ("22", "two chunks", b"2\r\nhe\r\n3\r\nllo\r\n0\r\n\r\n", Some(b"hello")),
    ("22", "no chunk", b"0\r\n\r\n", Some(b"")),
    ("22", "data that looks like chunks", b"7\r\n0\r\n\r\n\r\n\r\n0\r\n\r\n", Some(b"0\r\n\r\n\r\n")),
    ("22", "both cases", b"A\r\n0123456789\r\nb\r\n0123456789a\r\n0\r\n\r\n", Some(b"01234567890123456789a")),
    ("22", "16 digits", b"0000000000000001\r\na\r\n0000000000000000\r\n\r\n", Some(b"a")),
    ("22", "17 digits", b"00000000000000001\r\na\r\n0\r\n\r\n", None),
    ("22", "17 zeros", b"00000000000000000\r\n\r\n", None),
    ("22", "no digit", b"\r\n\r\n", None),
    ("22", "plus", b"+5\r\nhello\r\n0\r\n\r\n", None),
    ("22", "minus", b"-5\r\nhello\r\n0\r\n\r\n", None),
    ("22", "0x", b"0x5\r\nhello\r\n0\r\n\r\n", None),
    ("22", "underscore", b"0_5\r\nhello\r\n0\r\n\r\n", None),
    ("22", "no hexadecimal digit", b"g\r\n", None),
    ("22", "space before the size", b" 5\r\nhello\r\n0\r\n\r\n", None),
    ("22", "space behind the size", b"5 \r\nhello\r\n0\r\n\r\n", None),
    ("22", "tab behind the size", b"5\t\r\nhello\r\n0\r\n\r\n", None),
    ("22", "LF ends a size line", b"5\nhello\r\n0\r\n\r\n", None),
    ("22", "CR ends a size line", b"5\rhello\r\n0\r\n\r\n", None),
    ("22", "LF ends the last size line", b"0\n\r\n", None),
    ("23", "extension", b"5;a\r\nhello\r\n0;b=c\r\n\r\n", Some(b"hello")),
    ("23", "several", b"1;a;b=c;d=\"e;f\\\"\\\\\xe9\t g\";h\r\nx\r\n0\r\n\r\n", Some(b"x")),
    ("23", "empty quotes", b"1;a=\"\"\r\nx\r\n0\r\n\r\n", Some(b"x")),
    ("23", "no name", b"1;\r\nx\r\n0\r\n\r\n", None),
    ("23", "no name before the next", b"1;;a\r\nx\r\n0\r\n\r\n", None),
    ("23", "no value", b"1;a=\r\nx\r\n0\r\n\r\n", None),
    ("23", "value alone", b"1;=a\r\nx\r\n0\r\n\r\n", None),
    ("23", "two values", b"1;a=b=c\r\nx\r\n0\r\n\r\n", None),
    ("23", "open quotes", b"1;a=\"b\r\nx\r\n0\r\n\r\n", None),
    ("23", "bytes behind quotes", b"1;a=\"b\"c\r\nx\r\n0\r\n\r\n", None),
    ("23", "quotes inside a token", b"1;a=b\"c\"\r\nx\r\n0\r\n\r\n", None),
    ("23", "backslash before CRLF", b"1;a=\"b\\\r\nx\r\n0\r\n\r\n", None),
    ("23", "control in quotes", b"1;a=\"\x01\"\r\nx\r\n0\r\n\r\n", None),
    ("23", "LF in an extension", b"1;a\nx\r\n0\r\n\r\n", None),
    ("23", "whitespace before an extension", b"1 ;a\r\nx\r\n0\r\n\r\n", None),
    ("23", "whitespace in an extension", b"1; a\r\nx\r\n0\r\n\r\n", None),
    ("23", "comma", b"1,a\r\nx\r\n0\r\n\r\n", None),
    ("24", "data too long", b"4\r\nhello\r\n0\r\n\r\n", None),
    ("24", "data too short", b"6\r\nhello\r\n0\r\n\r\n", None),
    ("24", "LF behind data", b"5\r\nhello\n0\r\n\r\n", None),
    ("24", "CR behind data", b"5\r\nhello\r0\r\n\r\n", None),
    ("24", "nothing behind data", b"5\r\nhello0\r\n\r\n", None),
    ("24", "no empty line", b"0\r\n5\r\nhello\r\n", None),
    ("24", "empty line of LF", b"0\r\n\n", None),
    ("24", "empty line of CR", b"0\r\n\rX", None),
    ("25", "trailers", b"1\r\nx\r\n0\r\nDigest: a\r\nX-Sum:\tb \xe9\r\nC:\r\n\r\n", Some(b"x")),
    ("25", "Content-Length", b"0\r\nContent-Length: 1\r\n\r\n", None),
    ("25", "any Content field", b"0\r\ncontent-X: 1\r\n\r\n", None),
    ("25", "Transfer-Encoding", b"0\r\ntransfer-encoding: chunked\r\n\r\n", None),
    ("25", "Host", b"0\r\nHost: a\r\n\r\n", None),
    ("25", "Authorization", b"0\r\nAuthorization: a\r\n\r\n", None),
    ("25", "Cookie behind another", b"0\r\nA: b\r\nCookie: a\r\n\r\n", None),
    ("25", "If-Unmodified-Since", b"0\r\nIf-Unmodified-Since: a\r\n\r\n", None),
    (
        "25",
        "long name that begins as a forbidden one",
        b"0\r\nIf-Unmodified-Since-Then-And-Now: a\r\n\r\n",
        Some(b""),
    ),
    ("25", "no colon", b"0\r\nA\r\n\r\n", None),
    ("25", "no name", b"0\r\n: a\r\n\r\n", None),
    ("25", "space before the colon", b"0\r\nA : b\r\n\r\n", None),
    ("25", "folded", b"0\r\nA: b\r\n c\r\n\r\n", None),
    ("25", "LF ends a trailer", b"0\r\nA: b\n\r\n", None),
    ("25", "CR in a trailer", b"0\r\nA: b\rc\r\n\r\n", None),
    ("25", "NUL in a trailer", b"0\r\nA: b\0\r\n\r\n", None),
];

#[test]
fn cases() {
    for (rule, name, stream, body) in CASES {
        let label = format!("rule {rule}, {name}");
        let expected = body.map_or(Outcome::Refused, |body| Outcome::Body(body.to_vec(), stream.len()));
        check(&label, stream, &expected);
        assert_agrees(&label, stream, &expected);
    }
}
