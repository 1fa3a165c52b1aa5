//! Which answers are kept, and for how long, as cases.

use adyton_cache::{Control, Rules, Why, judge};

const RULES: Rules = Rules { fresh_ms: 1000, with_cookies: false };

const DATE: &str = "Date: Sun, 01 Nov 2020 00:00:00 GMT";

/// Three times in seconds: how long an answer is fresh, how long it may then be used while it is renewed, and how long
/// it may then be used if renewing it fails.
fn kept(status: &str, lines: &[&str]) -> Result<(u64, u64, u64), Why> {
    let head =
        format!("HTTP/1.1 {status}\r\n{DATE}\r\n{}\r\n\r\nCache-Control: no-store", lines.join("\r\n"));
    let terms = judge(head.as_bytes(), RULES, false)?;
    Ok((terms.fresh_ms / 1000, terms.revalidate_ms / 1000, terms.error_ms / 1000))
}

#[test]
fn times() {
    for (lines, expected) in [
        (&["X: y"][..], (1, 0, 0)),
        (&["Cache-Control: max-age=60"], (60, 0, 0)),
        (&["cache-control:max-age=\"60\""], (60, 0, 0)),
        (&["Cache-Control: s-maxage=5, max-age=60"], (5, 0, 0)),
        (&["Cache-Control: max-age=60", "Cache-Control: s-maxage=7"], (7, 0, 0)),
        (&["Cache-Control: max-age=60, max-age=30"], (30, 0, 0)),
        (&["Cache-Control: max-age=99999999999999999999999"], (1 << 31, 0, 0)),
        (&["Cache-Control: public"], (1, 0, 0)),
        (&["Cache-Control: max-age=60, stale-while-revalidate=9"], (60, 9, 0)),
        (&["Cache-Control: max-age=0, stale-while-revalidate=9"], (0, 9, 0)),
        (&["Cache-Control: max-age=60, stale-if-error=9, stale-while-revalidate=8"], (60, 8, 9)),
        (&["Cache-Control: max-age=60, stale-while-revalidate=9, must-revalidate"], (60, 0, 0)),
        (&["Cache-Control: max-age=60, stale-while-revalidate=9, proxy-revalidate"], (60, 0, 0)),
        (&["Expires: Sun, 01 Nov 2020 00:01:00 GMT"], (60, 0, 0)),
        (&["Expires: Sun, 01 Nov 2020 00:01:00 GMT", "Cache-Control: max-age=5"], (5, 0, 0)),
        (&["Pragma: no-cache", "Cache-Control: max-age=5"], (5, 0, 0)),
        (&["Cache-Control: a=\"no-store, private\", max-age=5"], (5, 0, 0)),
        (&["Cache-Control: x-no-store, max-age=5"], (5, 0, 0)),
    ] {
        assert_eq!(Ok(expected), kept("200 OK", lines), "{lines:?}");
    }
}

#[test]
fn what_is_not_kept() {
    for (status, line, expected) in [
        ("200 OK", "Cache-Control: no-store", Why::Forbidden),
        ("200 OK", "Cache-Control: NO-STORE, max-age=60", Why::Forbidden),
        ("200 OK", "Cache-Control: no-cache", Why::Forbidden),
        ("200 OK", "Cache-Control: no-cache=\"X\", max-age=60", Why::Forbidden),
        ("200 OK", "Cache-Control: private=\"Set-Cookie, X\", max-age=60", Why::Forbidden),
        ("200 OK", "Cache-Control: max-age=60, a=\"no end, private", Why::Forbidden),
        ("200 OK", "Pragma: no-cache", Why::Forbidden),
        ("200 OK", "Set-Cookie: a=b", Why::SetsCookie),
        ("200 OK", "set-cookie: a=b\r\nCache-Control: public, max-age=60", Why::SetsCookie),
        ("200 OK", "Vary: a, *", Why::Varies),
        ("200 OK", "Vary: a, b, c, d, e\r\nVary: f, g, h, i", Why::Varies),
        ("200 OK", "Cache-Control: max-age=0", Why::Stale),
        ("200 OK", "Cache-Control: max-age=-1", Why::Stale),
        ("200 OK", "Cache-Control: max-age", Why::Stale),
        ("200 OK", "Cache-Control: max-age=60, s-maxage=x", Why::Stale),
        ("200 OK", "Expires: 0", Why::Stale),
        ("200 OK", "Expires: Sun, 01 Nov 2020 00:00:00 GMT", Why::Stale),
        ("200 OK", "Expires: Sun, 01 Nov 2020 00:01:00 GMT\r\nExpires: 0", Why::Stale),
        ("200 OK", "Cache-Control: max-age=60\r\nAge: 60", Why::Stale),
        ("206 Part", "Cache-Control: max-age=60", Why::Status),
        ("302 Found", "X: y", Why::Status),
        ("304 Same", "Cache-Control: max-age=60", Why::Status),
        ("401 Who", "Cache-Control: max-age=60", Why::Status),
        ("500 Bad", "Cache-Control: max-age=60", Why::Status),
        ("x", "Cache-Control: max-age=60", Why::Status),
    ] {
        assert_eq!(Err(expected), kept(status, &[line]), "{status} {line}");
    }
    assert_eq!(Ok((60, 0, 0)), kept("302 Found", &["Cache-Control: max-age=60"]));
    assert_eq!(Ok((1, 0, 0)), kept("404 Not Found", &["X: y"]));
}

#[test]
fn cookies() {
    let judged = |lines: &str, rules: Rules, has_cookie: bool| {
        let head = format!("HTTP/1.1 200 OK\r\n{lines}\r\n\r\n");
        judge(head.as_bytes(), rules, has_cookie).map(|terms| terms.is_guess)
    };
    let with_cookies = Rules { with_cookies: true, ..RULES };
    for (lines, rules, expected) in [
        ("X: y", RULES, [Ok(true), Err(Why::Cookie)]),
        ("Cache-Control: public", RULES, [Ok(false), Ok(false)]),
        ("Cache-Control: max-age=9", RULES, [Ok(false), Ok(false)]),
        ("Vary: Accept, Cookie", RULES, [Ok(false), Ok(false)]),
        ("X: y", with_cookies, [Ok(false), Ok(false)]),
    ] {
        assert_eq!(expected, [false, true].map(|has_cookie| judged(lines, rules, has_cookie)), "{lines}");
    }
}

#[test]
fn names_in_vary() {
    let head = b"HTTP/1.1 200 OK\r\nVary: B, a\r\nX: y\r\nvary: b ,,\r\n\r\n";
    let names: Vec<Box<[u8]>> = vec![b"a"[..].into(), b"b"[..].into()];

    assert_eq!(Ok(names), judge(head, RULES, false).map(|terms| terms.vary));
}

/// A directive that forbids keeping an answer counts, however the line is cut into directives.
#[test]
fn directives() {
    let mut control = Control::default();
    control.read(b" ,, public ,s-maxage = 5 , a=\"\\\",\" ,no-cache");

    assert_eq!(Control { public: true, no_cache: true, s_maxage_s: Some(5), ..Control::default() }, control);
}
