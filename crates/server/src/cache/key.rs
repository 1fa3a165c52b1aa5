//! The key of an answer: everything that an application sees of a request, except for fields not listed here and the
//! client's address.

use adyton_cache::Audience;
use adyton_http::{Known, Method, Request};

use crate::client::asker::Asker;

/// Fields that make the answer private to the sender of the request: such an answer is not kept, and no kept answer is
/// given in its place.
const ALONE: u128 = Known::Authorization.bit()
    | Known::ProxyAuthorization.bit()
    | Known::ContentLength.bit()
    | Known::TransferEncoding.bit()
    | Known::Expect.bit()
    | Known::Upgrade.bit()
    | Known::XHttpMethodOverride.bit();

/// Fields like those in [`ALONE`], whose names are not among the known ones.
const ALONE_OTHERS: [&[u8]; 2] = [b"X-HTTP-Method", b"X-Method-Override"];

/// Fields that applications read in place of the request line and `Host`, to find out which page is wanted. Anybody may
/// send them.
const ADDRESSES: [Known; 14] = [
    Known::Forwarded,
    Known::XForwardedHost,
    Known::XForwardedHttps,
    Known::XForwardedPort,
    Known::XForwardedPrefix,
    Known::XForwardedProto,
    Known::XForwardedScheme,
    Known::XForwardedScriptName,
    Known::XForwardedServer,
    Known::XForwardedSsl,
    Known::XHost,
    Known::XHttps,
    Known::XScheme,
    Known::XScriptName,
];

/// Fields like those in [`ADDRESSES`], whose names are not among the known ones.
const ADDRESSES_OTHERS: [&[u8]; 7] = [
    b"X-Forwarded-Path",
    b"X-Forwarded-Uri",
    b"X-HTTP-Host-Override",
    b"X-Original-Host",
    b"X-Original-URI",
    b"X-Original-URL",
    b"X-Rewrite-URL",
];

const ADDRESSES_BITS: u128 = {
    let (mut bits, mut at) = (0, 0);
    while at < ADDRESSES.len() {
        bits |= ADDRESSES[at].bit();
        at += 1;
    }
    bits
};

/// The use of the cache for a request.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Use {
    /// The cache is not used.
    None,
    /// A kept answer may answer the request.
    Read,
    /// A kept answer may answer the request, or the new answer may be kept.
    Fill,
    /// The request may change the resource, so that the resource's kept answers become invalid.
    Changes,
}

/// Returns how the cache is used for a request. `Cache-Control` of clients is ignored; otherwise a client could have
/// the application called as often as it likes.
#[inline]
pub(crate) fn use_of(request: Request<'_>, asker: Option<&Asker>) -> Use {
    let is_read = match request.method() {
        Method::Get => true,
        Method::Head => false,
        Method::Options | Method::Trace | Method::Connect => return Use::None,
        _ => return Use::Changes,
    };
    // A target in absolute-form would have a key of its own.
    if request.has_any(ALONE)
        || request.target().first() != Some(&b'/')
        || asker.is_some_and(|asker| asker.user.is_some())
        || request.has(Known::Other) && has_one_of(request, &ALONE_OTHERS)
    {
        return Use::None;
    }
    if is_read && !request.has(Known::Range) { Use::Fill } else { Use::Read }
}

/// Returns the audience of an answer to this request.
#[inline]
pub(crate) fn audience_of(request: Request<'_>, with_cookies: bool) -> Audience {
    if request.has(Known::Cookie) && !with_cookies { Audience::WithCookies } else { Audience::Plain }
}

/// The parts of a key that are not in the request.
#[derive(Clone, Copy)]
pub(crate) struct KeyContext<'a> {
    /// The number of the site among all that ever existed in this process.
    pub(crate) site: u64,
    /// The listener.
    pub(crate) listener: u16,
    /// The target that the client has sent, if it was rewritten.
    pub(crate) sent: &'a [u8],
    /// The facts that proxies have told about the client.
    pub(crate) asker: Option<&'a Asker>,
}

/// Writes the key of a request.
#[inline]
pub(crate) fn write_key(key: &mut Vec<u8>, request: Request<'_>, place: KeyContext<'_>) {
    key.clear();
    key.extend_from_slice(&place.site.to_le_bytes());
    key.extend_from_slice(&place.listener.to_le_bytes());
    key.extend_from_slice(request.host().unwrap_or_default());
    key.push(b'\n');
    key.extend_from_slice(request.target());
    if !place.sent.is_empty() || place.asker.is_some() || request.has_any(ADDRESSES_BITS | Known::Other.bit())
    {
        write_rest(key, request, place);
    }
}

#[inline(never)]
fn write_rest(key: &mut Vec<u8>, request: Request<'_>, place: KeyContext<'_>) {
    if !place.sent.is_empty() {
        // No field name begins with a carriage return.
        key.extend_from_slice(b"\n\r");
        key.extend_from_slice(place.sent);
    }
    if let Some(asker) = place.asker {
        let Asker { user: _, client: _, is_https, host, server_name, server_port, script_name, .. } = asker;
        key.extend_from_slice(format!("\n{is_https:?} {server_port:?}").as_bytes());
        for part in [host, server_name, script_name] {
            key.push(b'\n');
            key.extend_from_slice(part.as_deref().unwrap_or(b"\r"));
        }
    }
    for field in request.fields() {
        let name = request.name(field);
        let counts = if field.known == Known::Other {
            is_one_of(name, &ADDRESSES_OTHERS)
        } else {
            ADDRESSES_BITS & field.known.bit() != 0
                && place.asker.is_none_or(|asker| asker.shows(field.known))
        };
        if counts {
            key.push(b'\n');
            key.extend(name.iter().map(u8::to_ascii_lowercase));
            key.push(b':');
            key.extend_from_slice(request.value(field));
        }
    }
}

fn has_one_of(request: Request<'_>, names: &[&[u8]]) -> bool {
    let mut others = request.fields().iter().filter(|field| field.known == Known::Other);
    others.any(|field| is_one_of(request.name(field), names))
}

fn is_one_of(name: &[u8], names: &[&[u8]]) -> bool {
    names.iter().any(|other| other.eq_ignore_ascii_case(name))
}

#[cfg(test)]
mod tests {
    use adyton_http1::{Head, Limits, Parsed};

    use super::{KeyContext, Use, use_of, write_key};
    use crate::client::asker::Asker;

    fn with<R>(request: &str, see: impl FnOnce(adyton_http::Request<'_>) -> R) -> R {
        let bytes = request.replace('\n', "\r\n") + "\r\n\r\n";
        let mut head = Head::new();
        assert_eq!(Ok(Parsed::Complete), head.parse(bytes.as_bytes(), &Limits::default()), "{request}");
        see(head.of(bytes.as_bytes()))
    }

    fn key(request: &str, asker: Option<&Asker>) -> Vec<u8> {
        let mut key = b"what was there before".to_vec();
        with(request, |request| {
            write_key(&mut key, request, KeyContext { site: 1, listener: 0, sent: b"", asker });
        });
        key
    }

    /// The method, the target and the fields of a request decide how the cache is used.
    #[test]
    fn uses() {
        for (request, expected) in [
            ("GET / HTTP/1.1\nHost: a", Use::Fill),
            ("GET / HTTP/1.1\nHost: a\nCache-Control: no-store, only-if-cached\nPragma: no-cache", Use::Fill),
            ("HEAD / HTTP/1.1\nHost: a", Use::Read),
            ("GET / HTTP/1.1\nHost: a\nRange: bytes=0-", Use::Read),
            ("POST / HTTP/1.1\nHost: a\nContent-Length: 0", Use::Changes),
            ("DELETE / HTTP/1.1\nHost: a", Use::Changes),
            ("PURGE / HTTP/1.1\nHost: a", Use::Changes),
            ("OPTIONS / HTTP/1.1\nHost: a", Use::None),
            ("GET / HTTP/1.1\nHost: a\nAuthorization: Basic YTpi", Use::None),
            ("GET / HTTP/1.1\nHost: a\nContent-Length: 3", Use::None),
            ("GET / HTTP/1.1\nHost: a\nTransfer-Encoding: chunked", Use::None),
            ("GET / HTTP/1.1\nHost: a\nX-HTTP-Method-Override: DELETE", Use::None),
            ("GET / HTTP/1.1\nHost: a\nx-method-override: DELETE", Use::None),
            ("GET http://a/ HTTP/1.1\nHost: a", Use::None),
        ] {
            assert_eq!(expected, with(request, |request| use_of(request, None)), "{request}");
        }
    }

    /// Two requests have different keys if an application may see a difference between them; otherwise their keys are
    /// equal.
    #[test]
    fn keys() {
        let plain = key("GET /a?b=1&c=2 HTTP/1.1\nHost: a.example", None);
        for same in [
            "GET /a?b=1&c=2 HTTP/1.1\nHost: a.example\nUser-Agent: x\nCookie: a=b\nX-Other: y",
            "HEAD /a?b=1&c=2 HTTP/1.1\nHost: a.example\nX-Forwarded-For: 192.0.2.1",
        ] {
            assert_eq!(plain, key(same, None), "{same}");
        }
        let others = [
            "GET /a?c=2&b=1 HTTP/1.1\nHost: a.example",
            "GET /A?b=1&c=2 HTTP/1.1\nHost: a.example",
            "GET //a?b=1&c=2 HTTP/1.1\nHost: a.example",
            "GET /%61?b=1&c=2 HTTP/1.1\nHost: a.example",
            "GET /a%3fb=1&c=2 HTTP/1.1\nHost: a.example",
            "GET /a?b=1&c=2 HTTP/1.1\nHost: A.example",
            "GET /a?b=1&c=2 HTTP/1.1\nHost: a.example:80",
            "GET /a?b=1&c=2 HTTP/1.1\nHost: a.example\nX-Forwarded-Host: evil",
            "GET /a?b=1&c=2 HTTP/1.1\nHost: a.example\nX-Forwarded-Server: evil",
            "GET /a?b=1&c=2 HTTP/1.1\nHost: a.example\nX-Original-URL: /evil",
            "GET /a?b=1&c=2 HTTP/1.1\nHost: a.example\nx-rewrite-url: /evil",
            "GET /a?b=1&c=2 HTTP/1.1\nHost: a.example\nForwarded: proto=https",
            "GET /a?b=1&c=2 HTTP/1.1\nHost: a.example\nX-Forwarded-Proto: https",
        ];
        let mut keys: Vec<_> = others.iter().map(|other| key(other, None)).collect();
        let told = Asker { is_https: Some(true), ..Asker::default() };
        keys.push(key("GET /a?b=1&c=2 HTTP/1.1\nHost: a.example", Some(&told)));
        let told = Asker { host: Some(b"evil"[..].into()), ..Asker::default() };
        keys.push(key("GET /a?b=1&c=2 HTTP/1.1\nHost: a.example", Some(&told)));
        keys.push(plain);
        let count = keys.len();
        keys.sort();
        keys.dedup();

        assert_eq!(count, keys.len());
    }
}
