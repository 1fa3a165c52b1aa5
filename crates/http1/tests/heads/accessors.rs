//! Properties of heads that the cases do not show: single fields, spans, reuse.

#![allow(clippy::unwrap_used, reason = "an error here is a failed test")]

use adyton_http::{Known, Method, Span, Version};
use adyton_http1::{Asked, Head, Limits, METHOD_BYTES_MAX, Parsed, Refusal};

fn parsed(input: &[u8]) -> Head {
    let mut head = Head::new();
    assert_eq!(Ok(Parsed::Complete), head.parse(input, &Limits::default()));
    head
}

#[test]
fn fields_by_name() {
    let input = b"GET / HTTP/1.1\r\nHost: a\r\nCOOKIE: b\r\nX-Odd: c\r\ncookie: d\r\n\r\n";
    let head = parsed(input);
    let text = |span: Span| str::from_utf8(span.of(input)).unwrap();

    assert!(head.fields.has(Known::Host) && head.fields.has(Known::Cookie) && head.fields.has(Known::Other));
    assert!(!head.fields.has(Known::Accept) && !head.fields.has(Known::XScriptName));
    assert_eq!(Some("b"), head.fields.first(Known::Cookie).map(text));
    assert_eq!(None, head.fields.first(Known::Accept));
    assert_eq!(vec!["b", "d"], head.fields.all(Known::Cookie).map(text).collect::<Vec<_>>());
    assert_eq!(
        vec!["Host", "COOKIE", "X-Odd", "cookie"],
        head.fields.as_slice().iter().map(|f| text(f.name)).collect::<Vec<_>>()
    );
    let known = [Known::Host, Known::Cookie, Known::Other, Known::Cookie];
    assert_eq!(known.to_vec(), head.fields.as_slice().iter().map(|f| f.known).collect::<Vec<_>>());
}

#[test]
fn spans() {
    let input = b"\r\nBREW http://a:1/b?c HTTP/1.1\r\nHost: a:1\r\n\r\nbody";
    let head = parsed(input);
    let text = |span: Span| str::from_utf8(span.of(input)).unwrap();

    assert_eq!((Method::Other, "BREW"), (head.method, text(head.method_span)));
    assert_eq!("http://a:1/b?c", text(head.target));
    assert_eq!(("/b", "c"), (text(head.path), text(head.query)));
    assert_eq!(input.len() - 4, head.bytes());
    assert_eq!(Some(Span { start: 14, end: 17 }), head.host);
    assert_eq!((3, false), (head.host.unwrap().len(), head.host.unwrap().is_empty()));
    assert!(Span::default().is_empty() && Span::default().of(input).is_empty());
    assert!(head.method_span.len() <= METHOD_BYTES_MAX);
}

/// The Host field gets the host of the target (RFC 9112 section 3.2.2).
#[test]
fn the_host_of_a_target() {
    let input = b"GET HTTP://Shop.example:8/a HTTP/1.1\r\nAccept: b\r\nhost: other.example\r\n\r\n";
    let head = parsed(input);
    let request = head.of(input);

    assert_eq!(Some(&b"Shop.example:8"[..]), request.host());
    assert_eq!(Some(&b"Shop.example:8"[..]), request.first(Known::Host));
    assert_eq!(vec![&b"Shop.example:8"[..]], request.all_named(b"Host").collect::<Vec<_>>());
    assert_eq!(Some(&b"b"[..]), request.first(Known::Accept));
}

/// Nothing of one request is left when the next one is parsed.
#[test]
fn a_scratch_forgets() {
    let mut head = Head::default();
    let limits = Limits::default();
    let first = b"HEAD /a?b HTTP/1.1\r\nHost: a\r\nContent-Length: 9\r\nExpect: 100-continue\r\nConnection: close\r\n\r\n";
    assert_eq!(Ok(Parsed::Complete), head.parse(first, &limits));
    assert_eq!(Asked { version: Version::Http11, is_head: true, keep_alive: false }, head.asked());
    let kept = head.clone();

    let second = b"GET / HTTP/1.0\r\nConnection: keep-alive\r\n\r\n";
    assert_eq!(Ok(Parsed::Complete), head.parse(second, &limits));
    assert_eq!(crate::feed::in_words(&parsed(second), second), crate::feed::in_words(&head, second));
    assert_eq!(Asked { version: Version::Http10, is_head: false, keep_alive: true }, head.asked());
    assert!(
        !head.fields.has(Known::Host)
            && head.fields.has(Known::Connection)
            && head.fields.as_slice().len() == 1
    );
    assert_eq!("Head /a ?b Http11 a Length(9) close expects", crate::feed::in_words(&kept, first));
}

/// Each refusal says in one sentence what is wrong.
#[test]
fn refusals_have_reasons() {
    for (input, part) in [
        (&b"\x16\x03\x01"[..], "TLS"),
        (b"PRI * HTTP/2.0\r\n\r\n", "HTTP/2"),
        (b"GET / HTTP/1.1\r\nA : b\r\n", "whitespace"),
        (b"GET / HTTP/1.1\r\nA\r\n", "colon"),
        (b"GET / HTTP/1.1\r\nA: b\n", "LF without CR"),
        (b"GET / HTTP/1.1\r\nA: b\rc", "CR stands without LF"),
        (b"GET / HTTP/1.1\r\nA: b\x01", "control"),
        (b"GET / HTTP/1.1\r\nA: b\r\n c", "folding"),
        (b"GET / HTTP/1.1\r\n\r\n", "Host"),
        (b"GET  /", "spaces"),
    ] {
        let Refusal { status, reason } = Head::new().parse(input, &Limits::default()).unwrap_err();

        assert!(reason.contains(part) && reason.ends_with('.'), "{reason}");
        assert_eq!(400, status, "{reason}");
    }
}

/// A head that equals the last one is not read again. A head is read again after another head, after a refused or
/// incomplete one, and under other limits.
#[test]
fn the_last_head_is_remembered() {
    let (one, other): (&[u8], &[u8]) = (
        b"GET /one?a HTTP/1.1\r\nHost: a\r\nConnection: close\r\n\r\n",
        b"PUT /two HTTP/1.1\r\nHost: a\r\nContent-Length: 3\r\n\r\n",
    );
    let mut head = Head::new();
    let mut reads = |input: &[u8], limits: &Limits| {
        let before = head.reads();
        let made = head.parse(input, limits);
        let mut fresh = Head::new();
        assert_eq!(fresh.parse(input, limits), made);
        if made == Ok(Parsed::Complete) {
            let told =
                |head: &Head| format!("{:?} {:?} {}", head.asked(), head.fields.as_slice(), head.bytes());
            assert_eq!(told(&fresh), told(&head));
            assert_eq!((fresh.path, fresh.query, fresh.framing()), (head.path, head.query, head.framing()));
        }
        head.reads() - before
    };
    let limits = Limits::default();
    let few = Limits { fields_max: 1, ..limits };

    assert_eq!([1, 0, 0], [one, one, &[one, other].concat()].map(|input| reads(input, &limits)));
    assert_eq!([1, 1, 0], [other, one, one].map(|input| reads(input, &limits)));
    assert_eq!([1, 1], [&one[..one.len() - 1], one].map(|input| reads(input, &limits)));
    assert_eq!([1, 1], [&b"nonsense\r\n\r\n"[..], one].map(|input| reads(input, &limits)));
    assert_eq!([1, 1], [&few, &limits].map(|limits| reads(one, limits)));
}
