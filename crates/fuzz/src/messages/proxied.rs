//! Facts that proxies report: headers of the PROXY protocol that come in pieces, and fields that a client has made up.

use adyton_http::{Known, Request, authority};
use adyton_http1::{Head, Limits, Parsed};
use adyton_proxied::proxy_protocol::{HEADER_BYTES_MAX, Read, read};
use adyton_proxied::{Told, Trust};
use adyton_route::Networks;

/// Panics unless every beginning of `input` has the outcome of the whole, or asks for more.
pub(crate) fn check_header(input: &[u8]) {
    let whole = read(input);
    for end in 0..input.len() {
        let part = read(&input[..end]);
        assert!(part == Read::NeedMore || part == whole, "{end}: {part:?}: {}", crate::show(input));
    }
    match whole {
        Read::NeedMore => assert!(input.len() < HEADER_BYTES_MAX, "{}", crate::show(input)),
        Read::Header { bytes, .. } => {
            assert!(bytes <= input.len(), "{}", crate::show(input));
            assert_eq!(Read::NeedMore, read(&input[..bytes - 1]), "{}", crate::show(input));
        }
        Read::Wrong(_) => {}
    }
}

/// Panics unless requests with `lines` for fields keep these promises. A client that is no trusted proxy is not
/// believed. All values that are believed are well-formed. If the remaining fields are read again, nothing more is
/// stripped or rewritten. Fields that a client puts in front change nothing.
pub(crate) fn check_fields(lines: &[u8], names: &[&str]) {
    let trust = trust(names);
    with_request(lines, |request| {
        let stranger = trust.told(None, request);
        assert_eq!(
            Told { stripped: stranger.stripped, ..Told::default() },
            stranger,
            "{}",
            crate::show(lines)
        );
        let told = trust.told("10.0.0.1".parse().ok(), request);
        check_values(&told);
        with_request(&what_is_left(&told, request), |left| {
            let again = trust.told("10.0.0.1".parse().ok(), left);
            let is_stripped = left.fields().iter().any(|field| again.strips(field.known));
            assert!(!is_stripped && again.rewritten.is_empty(), "{again:?}: {}", crate::show(lines));
        });
        let is_chain = matches!(names, ["Forwarded" | "X-Forwarded-For"]);
        if is_chain && told.client.is_some_and(|client| !client.to_string().starts_with("10.")) {
            let claims = b"Forwarded: for=\"\\\r\nX-Forwarded-For: 6.6.6.6\r\n";
            with_request(&[claims, lines].concat(), |more| {
                let other = trust.told("10.0.0.1".parse().ok(), more);
                assert_eq!((told.client, told.https), (other.client, other.https), "{}", crate::show(lines));
                assert_eq!(told.host, other.host, "{}", crate::show(lines));
            });
        }
    });
}

fn trust(names: &[&str]) -> Trust {
    let mut proxies = Networks::default();
    proxies.add("10.0.0.0/8").expect("a network");
    let mut trust = Trust::new(proxies);
    for name in names {
        trust.add_field(name).expect("a field of proxies");
    }
    trust
}

/// Calls `check` with a request of these lines, or does nothing when the lines are not fields.
fn with_request(lines: &[u8], check: impl FnOnce(Request<'_>)) {
    let bytes = [b"GET / HTTP/1.1\r\nHost: a\r\n", lines, b"\r\n\r\n"].concat();
    let mut head = Head::new();
    if head.parse(&bytes, &Limits::default()) == Ok(Parsed::Complete) {
        check(head.of(&bytes));
    }
}

fn check_values(told: &Told<'_>) {
    let is_path = |path: &[u8]| path.is_empty() || (path[0] == b'/' && !path.ends_with(b"/"));
    assert!(told.host.as_deref().is_none_or(|host| authority::read(host).is_some()), "{told:?}");
    assert!(told.server_name.is_none_or(|name| authority::read(name).is_some()), "{told:?}");
    assert!(told.client.is_some() || told.client_port.is_none(), "{told:?}");
    assert!(told.port != Some(0) && told.script_name.is_none_or(is_path), "{told:?}");
}

/// Returns the fields that an application sees.
fn what_is_left(told: &Told<'_>, request: Request<'_>) -> Vec<u8> {
    let is_as_it_was = |known| !told.strips(known) && told.rewritten(known).is_none();
    let fields =
        request.fields().iter().filter(|field| field.known != Known::Host && is_as_it_was(field.known));
    let kept = fields.map(|field| (request.name(field), request.value(field)));
    let rewritten = told.rewritten.iter().map(|(known, value)| (known.name().as_bytes(), &**value));
    let lines: Vec<_> = kept.chain(rewritten).map(|(name, value)| [name, b":", value].concat()).collect();
    lines.join(&b"\r\n"[..])
}
