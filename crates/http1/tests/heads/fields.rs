//! Cases: field lines, their names and values, rules 9 to 17.

use crate::feed::{Case, check, check_fields};

#[test]
fn field_lines() {
    LINES.iter().for_each(check);
}

#[test]
fn fields() {
    FIELDS.iter().for_each(check_fields);
}

const LINES: &[Case] = &[
    ("9", "LF ends the request line", b"GET / HTTP/1.1\nHost: a\r\n\r\n", "400"),
    ("9", "LF ends a field", b"GET / HTTP/1.1\r\nHost: a\n\r\n", "400"),
    ("9", "LF ends an empty field", b"GET / HTTP/1.1\r\nHost: a\r\nB:\nC: d\r\n\r\n", "400"),
    ("9", "LF ends the head", b"GET / HTTP/1.1\r\nHost: a\r\n\n", "400"),
    ("9", "CR ends a field", b"GET / HTTP/1.1\r\nHost: a\rB: c\r\n\r\n", "400"),
    ("9", "CR in a value", b"GET / HTTP/1.1\r\nHost: a\r\nB: c\rd\r\n\r\n", "400"),
    ("9", "CR CR LF", b"GET / HTTP/1.1\r\nHost: a\r\r\n\r\n", "400"),
    ("9", "CR instead of the empty line", b"GET / HTTP/1.1\r\nHost: a\r\n\rB: c\r\n\r\n", "400"),
    ("9", "LF in target", b"GET /\nHTTP/1.1\r\nHost: a\r\n\r\n", "400"),
    ("10", "space before colon", b"GET / HTTP/1.1\r\nHost : a\r\n\r\n", "400"),
    ("10", "tab before colon", b"GET / HTTP/1.1\r\nHost: a\r\nTransfer-Encoding\t: chunked\r\n\r\n", "400"),
    ("11", "no name", b"GET / HTTP/1.1\r\nHost: a\r\n: b\r\n\r\n", "400"),
    ("11", "no colon", b"GET / HTTP/1.1\r\nHost: a\r\nB\r\n\r\n", "400"),
    ("11", "no colon before a field", b"GET / HTTP/1.1\r\nHost: a\r\nB\r\nC: d\r\n\r\n", "400"),
    ("11", "space in name", b"GET / HTTP/1.1\r\nHost: a\r\nB c: d\r\n\r\n", "400"),
    ("11", "delimiter in name", b"GET / HTTP/1.1\r\nHost: a\r\nB[]: d\r\n\r\n", "400"),
    ("11", "latin-1 in name", b"GET / HTTP/1.1\r\nHost: a\r\nB\xe9: d\r\n\r\n", "400"),
    ("11", "NUL in name", b"GET / HTTP/1.1\r\nHost: a\r\nB\0: d\r\n\r\n", "400"),
    (
        "11",
        "CR for the hyphen of a known name",
        b"GET / HTTP/1.1\r\nHost: a\r\nContent\rLength: 1\r\n\r\n",
        "400",
    ),
    ("12", "folded value", b"GET / HTTP/1.1\r\nHost: a\r\nB: c\r\n d\r\n\r\n", "400"),
    ("12", "folded by tab", b"GET / HTTP/1.1\r\nHost: a\r\nB: c\r\n\td\r\n\r\n", "400"),
    ("12", "folded before the first field", b"GET / HTTP/1.1\r\n Host: a\r\n\r\n", "400"),
    ("12", "blank line that is not empty", b"GET / HTTP/1.1\r\nHost: a\r\n \r\n\r\n", "400"),
    (
        "13",
        "blanks around a value",
        b"GET / HTTP/1.1\r\nHost: \t a \t \r\n\r\n",
        "Get / ? Http11 a None keep",
    ),
    ("13", "no blank before a value", b"GET / HTTP/1.1\r\nHost:a\r\n\r\n", "Get / ? Http11 a None keep"),
    ("13", "NUL in value", b"GET / HTTP/1.1\r\nHost: a\r\nB: c\0d\r\n\r\n", "400"),
    ("13", "DEL in value", b"GET / HTTP/1.1\r\nHost: a\r\nB: c\x7f\r\n\r\n", "400"),
    ("13", "form feed in value", b"GET / HTTP/1.1\r\nHost: a\r\nB: \x0c\r\n\r\n", "400"),
    ("13", "ESC behind eight tabs", b"GET / HTTP/1.1\r\nHost: a\r\nB: c\t\t\t\t\t\t\t\t\x1b\r\n\r\n", "400"),
    ("15", "no Host", b"GET / HTTP/1.1\r\n\r\n", "400"),
    ("15", "no Host in 1.0", b"GET / HTTP/1.0\r\n\r\n", "Get / ? Http10 - None close"),
    ("15", "two Hosts", b"GET / HTTP/1.1\r\nHost: a\r\nhost: a\r\n\r\n", "400"),
    ("15", "two Hosts in 1.0", b"GET / HTTP/1.0\r\nHost: a\r\nHOST: b\r\n\r\n", "400"),
    ("15", "list of hosts", b"GET / HTTP/1.1\r\nHost: a,b\r\n\r\n", "400"),
    ("15", "empty Host", b"GET / HTTP/1.1\r\nHost:\r\n\r\n", "400"),
    ("15", "empty Host in 1.0", b"GET / HTTP/1.0\r\nHost: \r\n\r\n", "400"),
    ("15", "user information in Host", b"GET / HTTP/1.1\r\nHost: u@a\r\n\r\n", "400"),
    ("15", "path in Host", b"GET / HTTP/1.1\r\nHost: a/b\r\n\r\n", "400"),
    ("15", "space in Host", b"GET / HTTP/1.1\r\nHost: a b\r\n\r\n", "400"),
    ("15", "bad port", b"GET / HTTP/1.1\r\nHost: a:8x\r\n\r\n", "400"),
    ("15", "port alone", b"GET / HTTP/1.1\r\nHost: :80\r\n\r\n", "400"),
    ("15", "latin-1 in Host", b"GET / HTTP/1.1\r\nHost: \xe9\r\n\r\n", "400"),
    ("15", "IPv6", b"GET / HTTP/1.1\r\nHost: [::1]:80\r\n\r\n", "Get / ? Http11 [::1]:80 None keep"),
    ("15", "IPv6 without brackets", b"GET / HTTP/1.1\r\nHost: ::1\r\n\r\n", "400"),
    ("16", "Content-Type", b"GET / HTTP/1.0\r\nContent-Type: a\r\nContent-Type: a\r\n\r\n", "400"),
    ("16", "Authorization", b"GET / HTTP/1.0\r\nAuthorization: a\r\nauthorization: b\r\n\r\n", "400"),
    ("16", "Range", b"GET / HTTP/1.0\r\nRange: a\r\nRange: b\r\n\r\n", "400"),
    ("16", "User-Agent", b"GET / HTTP/1.0\r\nUser-Agent: a\r\nUser-Agent: b\r\n\r\n", "400"),
];

const FIELDS: &[Case] = &[
    ("13", "empty values", b"GET / HTTP/1.0\r\nB:\r\nC: \t\r\n\r\n", "B= C="),
    ("13", "tab and blanks inside", b"GET / HTTP/1.0\r\nB: c\t d  e\r\n\r\n", "B=c\\t d  e"),
    ("13", "obs-text", b"GET / HTTP/1.0\r\nB: \xe9\xff\x80\r\n\r\n", "B=\\xe9\\xff\\x80"),
    ("13", "eight blanks around", b"GET / HTTP/1.0\r\nB:        c        \r\n\r\n", "B=c"),
    (
        "16",
        "lists and cookies may repeat",
        b"GET / HTTP/1.0\r\nAccept: b\r\nCookie: c\r\nAccept: d\r\nCookie: e\r\n\r\n",
        "Accept=b Cookie=c Accept=d Cookie=e",
    ),
    ("17", "an underscore is marked", b"GET / HTTP/1.0\r\nX_A: b\r\nX-A: c\r\n\r\n", "X_A~b X-A=c"),
    ("17", "so is any odd token", b"GET / HTTP/1.0\r\nX.A: b\r\n9!#: c\r\n\r\n", "X.A~b 9!#~c"),
    ("35", "Upgrade in 1.0", b"GET / HTTP/1.0\r\nUpgrade: h2c\r\n\r\n", "Upgrade=h2c"),
];
