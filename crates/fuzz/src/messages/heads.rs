//! A reference implementation of the head parser: given the whole head, it follows RFC 9112 sections 2 to 9 line by
//! line.

use adyton_http::{Known, Method, Span, Version};
use adyton_http1::{Framing, Head, Limits, Parsed, Refusal};

use crate::text::{find, is_text, is_token, lines, number, split_once, trim};

/// All facts in a request head, as owned bytes.
#[derive(Debug, PartialEq, Eq)]
pub(crate) struct OwnedHead {
    bytes: usize,
    method: Vec<u8>,
    target: Vec<u8>,
    path: Vec<u8>,
    query: Vec<u8>,
    version: Version,
    host: Option<Vec<u8>>,
    fields: Vec<(Vec<u8>, Vec<u8>)>,
    framing: Framing,
    keep_alive: bool,
    expects_continue: bool,
}

/// Panics unless the parser takes `input` exactly when the reference does, and finds the same in it.
pub(crate) fn check(input: &[u8], limits: &Limits) {
    let mut head = Head::new();
    let parsed = head.parse(input, limits);
    let twin = naive(input, limits);
    let ours = (parsed == Ok(Parsed::Complete)).then(|| OwnedHead::of(&head, input));
    assert_eq!(twin, ours, "{parsed:?}: {}", crate::show(input));
    if let Some(end) = find(after_empty_line(input), b"\r\n\r\n") {
        assert_ne!(Ok(Parsed::Partial), parsed, "waits for more than the {end} bytes of a whole head");
    }
    match parsed {
        Ok(Parsed::Complete) => check_details(&head, input),
        Err(Refusal { status, reason }) => {
            assert!(matches!(status, 400 | 414 | 417 | 431 | 501 | 505) && reason.ends_with('.'));
        }
        Ok(Parsed::Partial) => {}
    }
}

impl OwnedHead {
    /// Returns the head that the parser found.
    pub(crate) fn of(head: &Head, input: &[u8]) -> OwnedHead {
        let copy = |span: Span| span.of(&input[..head.bytes()]).to_vec();
        OwnedHead {
            bytes: head.bytes(),
            method: copy(head.method_span),
            target: copy(head.target),
            path: copy(head.path),
            query: copy(head.query),
            version: head.version,
            host: head.host.map(copy),
            fields: head
                .fields
                .as_slice()
                .iter()
                .map(|field| (copy(field.name), copy(field.value)))
                .collect(),
            framing: head.framing(),
            keep_alive: head.keep_alive(),
            expects_continue: head.expects_continue(),
        }
    }

    /// Returns the values of all fields called `name`.
    fn all<'s>(&'s self, name: &'s str) -> impl Iterator<Item = &'s [u8]> {
        let called = move |field: &&(Vec<u8>, Vec<u8>)| field.0.eq_ignore_ascii_case(name.as_bytes());
        self.fields.iter().filter(called).map(|field| field.1.as_slice())
    }

    fn first<'s>(&'s self, name: &'s str) -> Option<&'s [u8]> {
        self.all(name).next()
    }
}

/// Checks the properties that the reference does not compute: the names that are known, the tables of fields, and the
/// order of spans.
fn check_details(head: &Head, input: &[u8]) {
    let method = head.method_span.of(input);
    let expected = METHODS.iter().find(|(name, _)| name.as_bytes() == method).map_or(Method::Other, |m| m.1);
    assert_eq!(expected, head.method);
    let mut end = head.target.end;
    for field in head.fields.as_slice() {
        // The host of a target replaces the value of the field `Host`.
        let is_of_target = field.known == Known::Host && head.host == Some(field.value);
        let is_behind =
            field.name.end < field.value.start || is_of_target && field.value.end <= head.target.end;
        assert!(end < field.name.start && is_behind, "{field:?} overlaps");
        let name = field.name.of(input);
        assert_eq!(name.iter().all(|byte| byte.is_ascii_alphanumeric() || *byte == b'-'), field.plain);
        assert!(
            head.fields.has(field.known) && head.fields.all(field.known).any(|value| value == field.value)
        );
        let same =
            head.fields.as_slice().iter().filter(|other| other.name.of(input).eq_ignore_ascii_case(name));
        assert!(same.clone().all(|other| other.known == field.known), "{}", crate::show(name));
        end = field.value.end.max(field.name.end);
    }
    assert_eq!(
        (head.version, head.keep_alive(), head.method == Method::Head),
        (head.asked().version, head.asked().keep_alive, head.asked().is_head)
    );
}

fn after_empty_line(input: &[u8]) -> &[u8] {
    input.strip_prefix(b"\r\n").unwrap_or(input)
}

/// Returns all facts in a whole head, if it keeps the rules; `None` for the beginning of a head.
fn naive(input: &[u8], limits: &Limits) -> Option<OwnedHead> {
    let rest = after_empty_line(input);
    let end = find(rest, b"\r\n\r\n")?;
    let bytes = input.len() - rest.len() + end + 4;
    let mut lines = lines(&rest[..end])?.into_iter();
    let line = lines.next().filter(|line| line.len() <= limits.line_bytes_max)?;
    let mut words = line.split(|&byte| byte == b' ');
    let (method, target, version) = (words.next()?, words.next()?, words.next()?);
    let is_line = words.next().is_none() && is_token(method) && method.len() <= 32;
    let (path, query, authority) = naive_target(method, target)?;
    let fields = lines.map(|line| naive_field(line, limits)).collect::<Option<Vec<_>>>()?;
    if !is_line || fields.len() > limits.fields_max || bytes > limits.head_bytes_max {
        return None;
    }
    let mut owned = OwnedHead {
        bytes,
        method: method.to_vec(),
        target: target.to_vec(),
        path: path.to_vec(),
        query: query.to_vec(),
        version: naive_version(version)?,
        host: authority.map(<[u8]>::to_vec),
        fields,
        framing: Framing::None,
        keep_alive: false,
        expects_continue: false,
    };
    let repeated = SINGLETONS.iter().any(|name| owned.all(name).count() > 1);
    (!repeated && settle_host(&mut owned) && settle_body(&mut owned)).then(|| {
        owned.keep_alive = naive_keep_alive(&owned);
        owned
    })
}

fn naive_version(version: &[u8]) -> Option<Version> {
    match version.strip_prefix(b"HTTP/1.")? {
        b"0" => Some(Version::Http10),
        [minor] if minor.is_ascii_digit() => Some(Version::Http11),
        _ => None,
    }
}

/// Path, query and authority.
type TargetParts<'t> = (&'t [u8], &'t [u8], Option<&'t [u8]>);

fn naive_target<'t>(method: &[u8], target: &'t [u8]) -> Option<TargetParts<'t>> {
    if target.is_empty() || !target.iter().all(|&byte| byte.is_ascii_graphic() && byte != b'#') {
        return None;
    }
    if method == b"CONNECT" {
        return (naive_authority(target)?).then_some((b"", b"", Some(target)));
    }
    let (path_and_query, authority) = match target {
        b"*" if method == b"OPTIONS" => return Some((target, b"", None)),
        [b'/', ..] => (target, None),
        _ => {
            let slashes = find(target, b"://")? + 3;
            let is_scheme = ["http://", "https://"]
                .iter()
                .any(|scheme| target[..slashes].eq_ignore_ascii_case(scheme.as_bytes()));
            let rest = &target[slashes..];
            let end = rest.iter().position(|byte| b"/?".contains(byte)).unwrap_or(rest.len());
            naive_authority(&rest[..end]).filter(|_| is_scheme)?;
            (&rest[end..], Some(&rest[..end]))
        }
    };
    let (path, query) = split_once(path_and_query, b'?').unwrap_or((path_and_query, b""));
    Some((path, query, authority))
}

/// Whether the authority has a port; `None` if the text is no authority.
fn naive_authority(authority: &[u8]) -> Option<bool> {
    let text = str::from_utf8(authority).ok()?;
    let (host, port) = match text.rfind(':') {
        Some(colon) if !text.ends_with(']') => (&text[..colon], Some(&text[colon + 1..])),
        _ => (text, None),
    };
    let inside = host.strip_prefix('[').and_then(|host| host.strip_suffix(']'));
    let is_host = match inside {
        Some(address) => address.parse::<std::net::Ipv6Addr>().is_ok(),
        None => is_reg_name(host.as_bytes()),
    };
    let is_port = |port: &str| {
        port.is_empty() || (port.len() <= 5 && number(port.as_bytes()).is_some_and(|port| port <= 65535))
    };
    (is_host && port.is_none_or(is_port)).then_some(port.is_some())
}

fn is_reg_name(name: &[u8]) -> bool {
    let mut rest = name;
    while let [byte, more @ ..] = rest {
        rest = match (byte, more) {
            (b'%', [a, b, more @ ..]) if a.is_ascii_hexdigit() && b.is_ascii_hexdigit() => more,
            (byte, more) if byte.is_ascii_alphanumeric() || b"-._~!$&'()*+;=".contains(byte) => more,
            _ => return false,
        };
    }
    !name.is_empty()
}

fn naive_field(line: &[u8], limits: &Limits) -> Option<(Vec<u8>, Vec<u8>)> {
    let (name, value) = split_once(line, b':')?;
    let is_good = is_token(name) && value.iter().all(|&byte| is_text(byte));
    (is_good && line.len() <= limits.field_bytes_max).then(|| (name.to_vec(), trim(value).to_vec()))
}

fn settle_host(owned: &mut OwnedHead) -> bool {
    let named = owned.first("host").map(<[u8]>::to_vec);
    if named.as_ref().map_or(owned.version == Version::Http11, |host| naive_authority(host).is_none()) {
        return false;
    }
    let is_tunnel = owned.method == b"CONNECT";
    match (&owned.host, named) {
        (Some(asked), Some(named)) if is_tunnel => asked.eq_ignore_ascii_case(&named),
        (Some(asked), _) => {
            let mut fields = owned.fields.iter_mut();
            let field = fields.find(|(name, _)| name.eq_ignore_ascii_case(b"host"));
            if let Some((_, value)) = field {
                value.clone_from(asked);
            }
            true
        }
        (None, named) => {
            owned.host = named;
            true
        }
    }
}

fn settle_body(owned: &mut OwnedHead) -> bool {
    let framing = match (owned.first("transfer-encoding"), owned.first("content-length")) {
        (None, None) => Some(Framing::None),
        (None, Some(length)) => number(length).map(Framing::Length),
        (Some(coding), None) if owned.version == Version::Http11 => {
            coding.eq_ignore_ascii_case(b"chunked").then_some(Framing::Chunked)
        }
        (Some(_), _) => None,
    };
    let expect = owned.first("expect").map(|value| value.eq_ignore_ascii_case(b"100-continue"));
    owned.framing = framing.unwrap_or(Framing::None);
    let has_body = !matches!(owned.framing, Framing::None | Framing::Length(0));
    owned.expects_continue = expect == Some(true) && has_body && owned.version == Version::Http11;
    framing.is_some() && expect != Some(false)
}

fn naive_keep_alive(owned: &OwnedHead) -> bool {
    let said = |option: &[u8]| {
        let mut options = owned.all("connection").flat_map(|value| value.split(|&byte| byte == b','));
        options.any(|other| trim(other).eq_ignore_ascii_case(option))
    };
    !said(b"close") && (owned.version == Version::Http11 || said(b"keep-alive"))
}

/// Known methods; case matters.
const METHODS: &[(&str, Method)] = &[
    ("GET", Method::Get),
    ("HEAD", Method::Head),
    ("POST", Method::Post),
    ("PUT", Method::Put),
    ("DELETE", Method::Delete),
    ("OPTIONS", Method::Options),
    ("PATCH", Method::Patch),
    ("TRACE", Method::Trace),
    ("CONNECT", Method::Connect),
];

/// Fields that may stand only once (rule 16).
const SINGLETONS: &[&str] = &[
    "authorization",
    "content-length",
    "content-location",
    "content-range",
    "content-type",
    "expect",
    "from",
    "host",
    "if-modified-since",
    "if-range",
    "if-unmodified-since",
    "max-forwards",
    "origin",
    "proxy-authorization",
    "range",
    "referer",
    "transfer-encoding",
    "user-agent",
];
