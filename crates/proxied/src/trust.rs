//! Which fields of a request are believed, and what they say.
//!
//! The rules are those of `mod_wsgi`'s `WSGITrustedProxies` and `WSGITrustedProxyHeaders`: of the fields that say the same
//! thing, one is believed, and an application does not see the others, nor any of them from a client that is not trusted.

use std::fmt;
use std::net::{IpAddr, SocketAddr};

use adyton_http::Request;
use adyton_http::bytes::{is_reg_name_byte, trim};
use adyton_route::Networks;

use crate::forwarded::{self, Element};
use crate::node;

/// What a field tells.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Matter {
    Client,
    Scheme,
    Host,
    ServerName,
    Port,
    ScriptName,
}

/// How a field is written.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Form {
    /// The way of the request, the nearest last.
    Chain,
    /// One value; of a list, the last, which the nearest proxy has written.
    Value,
    /// `on`, `true` or `1` for https.
    Switch,
    /// RFC 7239, which tells client, scheme and host at once.
    Forwarded,
}

/// A field that a proxy may write.
#[derive(Debug)]
struct Known {
    name: &'static str,
    matter: Matter,
    form: Form,
}

const fn known(name: &'static str, matter: Matter, form: Form) -> Known {
    Known { name, matter, form }
}

static KNOWN: [Known; 16] = [
    known("Forwarded", Matter::Client, Form::Forwarded),
    known("X-Forwarded-For", Matter::Client, Form::Chain),
    known("X-Client-IP", Matter::Client, Form::Value),
    known("X-Real-IP", Matter::Client, Form::Value),
    known("X-Forwarded-Proto", Matter::Scheme, Form::Value),
    known("X-Forwarded-Scheme", Matter::Scheme, Form::Value),
    known("X-Scheme", Matter::Scheme, Form::Value),
    known("X-Forwarded-HTTPS", Matter::Scheme, Form::Switch),
    known("X-Forwarded-SSL", Matter::Scheme, Form::Switch),
    known("X-HTTPS", Matter::Scheme, Form::Switch),
    known("X-Forwarded-Host", Matter::Host, Form::Value),
    known("X-Host", Matter::Host, Form::Value),
    known("X-Forwarded-Server", Matter::ServerName, Form::Value),
    known("X-Forwarded-Port", Matter::Port, Form::Value),
    known("X-Script-Name", Matter::ScriptName, Form::Value),
    known("X-Forwarded-Script-Name", Matter::ScriptName, Form::Value),
];

/// The names of all fields that can be believed.
pub const FIELDS: [&str; 16] = {
    let mut names = [""; 16];
    let mut at = 0;
    while at < names.len() {
        names[at] = KNOWN[at].name;
        at += 1;
    }
    names
};

/// Why a field cannot be believed.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum TrustError {
    /// No proxy is known to write it.
    Unknown(String),
}

impl fmt::Display for TrustError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            TrustError::Unknown(name) => write!(f, "{name} is none of {}", FIELDS.join(", ")),
        }
    }
}

impl std::error::Error for TrustError {}

/// Which proxies are believed, and which of their fields.
#[derive(Clone, Debug)]
pub struct Trust {
    proxies: Networks,
    /// Those of `KNOWN` that are believed, by number, the first choice first.
    believed: Vec<usize>,
}

/// What the proxies say of a request. `None`: nothing.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Told {
    /// The client's address.
    pub client: Option<IpAddr>,
    /// Its port.
    pub client_port: Option<u16>,
    /// Whether it has asked by https.
    pub is_https: Option<bool>,
    /// The host that it has asked for, perhaps with a port.
    pub host: Option<Box<[u8]>>,
    /// The name of the server that it has asked.
    pub server_name: Option<Box<[u8]>>,
    /// The port that it has asked at.
    pub server_port: Option<u16>,
    /// Where the application stands, as the client sees it.
    pub script_name: Option<Box<[u8]>>,
    /// A field in which the client itself may have written something, and what is left of it without that.
    pub rewritten: Option<(&'static str, Box<[u8]>)>,
    /// Names of fields that an application must not see.
    pub hidden: Vec<&'static str>,
}

impl Told {
    /// The client's address if `peer` is at the other end of the connection; its port is 0 where only the address is told.
    pub fn peer(&self, peer: Option<SocketAddr>) -> Option<SocketAddr> {
        match self.client {
            Some(client) => Some(SocketAddr::new(client, self.client_port.unwrap_or(0))),
            None => peer,
        }
    }
}

impl Trust {
    /// Believes nobody.
    pub fn new(proxies: Networks) -> Trust {
        Trust { proxies, believed: Vec::new() }
    }

    /// Believes this field, too, if none that was named before tells the same.
    ///
    /// # Errors
    ///
    /// [`TrustError`].
    pub fn believe(&mut self, name: &str) -> Result<(), TrustError> {
        let at = KNOWN.iter().position(|known| known.name.eq_ignore_ascii_case(name));
        let at = at.ok_or_else(|| TrustError::Unknown(name.to_owned()))?;
        if !self.believed.contains(&at) {
            self.believed.push(at);
        }
        Ok(())
    }

    /// Whether a client with this address is believed; `None` is one of a unix socket.
    pub fn has(&self, address: Option<IpAddr>) -> bool {
        self.proxies.has(address)
    }

    /// What is told of a request that has come from `peer`; `None` if nothing is.
    pub fn told(&self, peer: Option<IpAddr>, request: Request<'_>) -> Option<Box<Told>> {
        if !request.fields().iter().any(|field| self.concerns(request.name(field)).is_some()) {
            return None;
        }
        let mut told = Box::<Told>::default();
        let is_trusted = self.proxies.has(peer);
        if is_trusted {
            for known in self.believed.iter().map(|&at| &KNOWN[at]) {
                let is_read = has_field(request, known.name) && self.is_choice(known, request);
                if is_read && !self.read(known, request, &mut told) {
                    told.hidden.push(known.name);
                }
            }
        }
        for field in request.fields() {
            if let Some(known) = self.concerns(request.name(field)) {
                let is_seen = is_trusted && self.is_choice(known, request);
                if !is_seen && !told.hidden.contains(&known.name) {
                    told.hidden.push(known.name);
                }
            }
        }
        Some(told)
    }

    /// The field of this name, if one that is believed tells the same.
    fn concerns(&self, name: &[u8]) -> Option<&'static Known> {
        if !matches!(name.first(), Some(b'X' | b'x' | b'F' | b'f')) {
            return None;
        }
        let known = KNOWN.iter().find(|known| name.eq_ignore_ascii_case(known.name.as_bytes()))?;
        self.believed.iter().any(|&at| tells_the_same(&KNOWN[at], known)).then_some(known)
    }

    /// Whether it is the first of those that are believed and there.
    fn is_choice(&self, field: &Known, request: Request<'_>) -> bool {
        let mut there = self.believed.iter().map(|&at| &KNOWN[at]);
        let first = there.find(|known| tells_the_same(known, field) && has_field(request, known.name));
        first.is_some_and(|known| known.name == field.name)
    }

    /// Reads a field that is believed; `false` if it makes no sense.
    fn read(&self, known: &Known, request: Request<'_>, told: &mut Told) -> bool {
        let joined = joined(request, known.name);
        match known.form {
            Form::Forwarded => return self.read_forwarded(&joined, told),
            Form::Chain => return self.read_chain(&joined, told),
            Form::Value | Form::Switch => {}
        }
        let value = trim(joined.rsplit(|&byte| byte == b',').next().unwrap_or_default());
        let text = std::str::from_utf8(value).unwrap_or_default();
        match known.matter {
            Matter::Client => {
                let Some((client, port)) = node::read(value) else { return false };
                (told.client, told.client_port) = (Some(client), port);
            }
            Matter::Scheme if known.form == Form::Switch => {
                told.is_https = Some(["on", "true", "1"].iter().any(|word| text.eq_ignore_ascii_case(word)));
            }
            Matter::Scheme => told.is_https = scheme(value),
            Matter::Host => told.host = host(value),
            Matter::ServerName => told.server_name = host(value),
            Matter::Port => told.server_port = node::number(text).filter(|&port| port > 0),
            Matter::ScriptName => told.script_name = script_name(value),
        }
        match known.matter {
            Matter::Client => told.client.is_some(),
            Matter::Scheme => told.is_https.is_some(),
            Matter::Host => told.host.is_some(),
            Matter::ServerName => told.server_name.is_some(),
            Matter::Port => told.server_port.is_some(),
            Matter::ScriptName => told.script_name.is_some(),
        }
    }

    /// Goes back from the nearest proxy until one is not trusted: that is the client. What stands before it, the client may
    /// have written itself. Behind something that is no address nobody is known.
    fn read_chain(&self, joined: &[u8], told: &mut Told) -> bool {
        let elements: Vec<&[u8]> =
            joined.split(|&byte| byte == b',').map(trim).filter(|element| !element.is_empty()).collect();
        let Some((first, client)) = self.origin(elements.iter().map(|element| node::read(element))) else {
            return false;
        };
        (told.client, told.client_port) = (Some(client.0), client.1);
        told.rewritten = Some(("X-Forwarded-For", elements[first..].join(&b", "[..]).into()));
        true
    }

    fn read_forwarded(&self, joined: &[u8], told: &mut Told) -> bool {
        let Some(elements) = forwarded::read(joined) else { return false };
        let node = |element: &Element<'_>| node::read(element.client.as_deref()?);
        // Without an address, the nearest one still tells how it was asked.
        let origin = self.origin(elements.iter().map(node));
        let first = origin.map_or(elements.len().saturating_sub(1), |(first, _)| first);
        let Some(element) = elements.get(first) else { return false };
        if let Some((_, (client, port))) = origin {
            (told.client, told.client_port) = (Some(client), port);
        }
        told.is_https = told.is_https.or_else(|| scheme(element.proto.as_deref()?));
        told.host = told.host.take().or_else(|| host(element.host.as_deref()?));
        let rest: Vec<&[u8]> = elements[first..].iter().map(|element| element.text).collect();
        told.rewritten = Some(("Forwarded", rest.join(&b", "[..]).into()));
        true
    }

    /// Which of these addresses is the client's: the last that is not trusted, else the first one that is known.
    fn origin(
        &self,
        nodes: impl DoubleEndedIterator<Item = Option<(IpAddr, Option<u16>)>> + ExactSizeIterator,
    ) -> Option<(usize, (IpAddr, Option<u16>))> {
        let mut found = None;
        for (at, node) in nodes.enumerate().rev() {
            let Some(node) = node else { break };
            found = Some((at, node));
            if !self.proxies.has(Some(node.0)) {
                break;
            }
        }
        found
    }
}

/// Whether one of two fields makes the other one superfluous.
fn tells_the_same(one: &Known, other: &Known) -> bool {
    let is_in_forwarded =
        |known: &Known| matches!(known.matter, Matter::Client | Matter::Scheme | Matter::Host);
    one.matter == other.matter || one.form == Form::Forwarded && is_in_forwarded(other)
}

fn has_field(request: Request<'_>, name: &str) -> bool {
    request.all_named(name.as_bytes()).next().is_some()
}

/// All fields of a name as one list (RFC 9110 section 5.3).
fn joined(request: Request<'_>, name: &str) -> Vec<u8> {
    request.all_named(name.as_bytes()).collect::<Vec<_>>().join(&b", "[..])
}

fn scheme(value: &[u8]) -> Option<bool> {
    match value {
        _ if value.eq_ignore_ascii_case(b"https") => Some(true),
        _ if value.eq_ignore_ascii_case(b"http") => Some(false),
        _ => None,
    }
}

/// A host, perhaps with a port (RFC 9110 section 7.2).
fn host(value: &[u8]) -> Option<Box<[u8]>> {
    let is_fine = |&byte: &u8| is_reg_name_byte(byte) || matches!(byte, b':' | b'[' | b']');
    (!value.is_empty() && value.iter().all(is_fine)).then(|| value.into())
}

/// A path that begins with a slash, or nothing, without a slash at its end.
fn script_name(value: &[u8]) -> Option<Box<[u8]>> {
    let is_fine = value.iter().all(|&byte| byte.is_ascii_graphic()) && !value.starts_with(b"//");
    let value = value.strip_suffix(b"/").unwrap_or(value);
    (is_fine && matches!(value, [] | [b'/', ..])).then(|| value.into())
}

#[cfg(test)]
mod tests {
    #![allow(clippy::expect_used, reason = "what is wrong then is the test")]

    use std::fmt::Write as _;

    use adyton_http1::{Head, Limits, Parsed};
    use adyton_route::Networks;

    use super::{FIELDS, Told, Trust, TrustError};

    fn trust(fields: &[&str]) -> Trust {
        let mut proxies = Networks::default();
        for network in ["10.0.0.0/8", "fd00::/8", "unix"] {
            proxies.add(network).expect("a network");
        }
        let mut trust = Trust::new(proxies);
        for field in fields {
            trust.believe(field).expect("a field");
        }
        trust
    }

    fn told(trust: &Trust, peer: &str, fields: &[(&str, &str)]) -> Option<Box<Told>> {
        let mut text = "GET / HTTP/1.1\r\nHost: a\r\n".to_owned();
        for (name, value) in fields {
            let _ = write!(text, "{name}: {value}\r\n");
        }
        text.push_str("\r\n");
        let mut head = Head::new();
        let parsed = head.parse(text.as_bytes(), &Limits::default());
        assert!(matches!(parsed, Ok(Parsed::Complete)), "{text}");
        trust.told(peer.parse().ok(), head.of(text.as_bytes()))
    }

    /// What was told, in a few words.
    fn shown(told: Option<Box<Told>>) -> String {
        let Some(told) = told else { return "nothing".to_owned() };
        let text = |bytes: &[u8]| String::from_utf8_lossy(bytes).into_owned();
        let mut parts = Vec::new();
        parts.extend(told.client.map(|client| match told.client_port {
            Some(port) => format!("client {client} port {port}"),
            None => format!("client {client}"),
        }));
        parts.extend(told.is_https.map(|is| if is { "https".to_owned() } else { "http".to_owned() }));
        parts.extend(told.host.map(|host| format!("host {}", text(&host))));
        parts.extend(told.server_name.map(|name| format!("server {}", text(&name))));
        parts.extend(told.server_port.map(|port| format!("at {port}")));
        parts.extend(told.script_name.map(|name| format!("script {}", text(&name))));
        parts.extend(told.rewritten.map(|(name, value)| format!("{name}={}", text(&value))));
        parts.extend(told.hidden.iter().map(|name| format!("-{name}")));
        parts.join("; ")
    }

    const FOR: &str = "X-Forwarded-For";
    const PROTO: &str = "X-Forwarded-Proto";

    /// From a proxy that is trusted, with one field that is believed.
    #[test]
    fn one_field() {
        for (name, value, expected) in [
            (FOR, "192.0.2.1", "client 192.0.2.1; X-Forwarded-For=192.0.2.1"),
            (FOR, "6.6.6.6, 192.0.2.1", "client 192.0.2.1; X-Forwarded-For=192.0.2.1"),
            (FOR, "6.6.6.6, 192.0.2.1, 10.1.1.1", "client 192.0.2.1; X-Forwarded-For=192.0.2.1, 10.1.1.1"),
            (FOR, "10.2.2.2, 10.1.1.1", "client 10.2.2.2; X-Forwarded-For=10.2.2.2, 10.1.1.1"),
            (FOR, ",, 192.0.2.1 ,", "client 192.0.2.1; X-Forwarded-For=192.0.2.1"),
            (FOR, "192.0.2.1, x, 10.1.1.1", "client 10.1.1.1; X-Forwarded-For=10.1.1.1"),
            (FOR, "192.0.2.1, unknown", "-X-Forwarded-For"),
            (
                FOR,
                "[2001:db8::1]:99, fd00::1",
                "client 2001:db8::1 port 99; X-Forwarded-For=[2001:db8::1]:99, fd00::1",
            ),
            (FOR, "", "-X-Forwarded-For"),
            ("X-Real-IP", "192.0.2.1", "client 192.0.2.1"),
            ("X-Client-IP", "6.6.6.6, 192.0.2.1", "client 192.0.2.1"),
            ("X-Real-IP", "me", "-X-Real-IP"),
            (PROTO, "https", "https"),
            (PROTO, "https, HTTP", "http"),
            (PROTO, "ftp", "-X-Forwarded-Proto"),
            ("X-Scheme", "https", "https"),
            ("X-Forwarded-SSL", "On", "https"),
            ("X-HTTPS", "off", "http"),
            ("X-Forwarded-HTTPS", "1", "https"),
            ("X-Forwarded-Host", "a.example:81", "host a.example:81"),
            ("X-Forwarded-Host", "a.example/<x>", "-X-Forwarded-Host"),
            ("X-Host", "[::1]:80", "host [::1]:80"),
            ("X-Forwarded-Server", "b.example", "server b.example"),
            ("X-Forwarded-Port", "443", "at 443"),
            ("X-Forwarded-Port", "0", "-X-Forwarded-Port"),
            ("X-Forwarded-Port", "65536", "-X-Forwarded-Port"),
            ("X-Script-Name", "/app/", "script /app"),
            ("X-Forwarded-Script-Name", "app", "-X-Forwarded-Script-Name"),
            ("X-Script-Name", "//evil.example", "-X-Script-Name"),
            (
                "Forwarded",
                "for=6.6.6.6;proto=http, for=192.0.2.1;proto=https;host=a.example, for=10.1.1.1;proto=http",
                "client 192.0.2.1; https; host a.example; \
                 Forwarded=for=192.0.2.1;proto=https;host=a.example, for=10.1.1.1;proto=http",
            ),
            ("Forwarded", "for=_hidden;proto=https", "https; Forwarded=for=_hidden;proto=https"),
            ("Forwarded", "for=a b", "-Forwarded"),
            ("Forwarded", "", "-Forwarded"),
        ] {
            let trust = trust(&[name]);

            assert_eq!(expected, shown(told(&trust, "10.0.0.1", &[(name, value)])), "{name}: {value}");
            assert_eq!(expected, shown(told(&trust, "unix", &[(name, value)])), "{name}: {value}");
            let hidden = format!("-{name}");
            assert_eq!(hidden, shown(told(&trust, "192.0.2.9", &[(name, value)])), "{name}: {value}");
        }
    }

    /// Of several, one is believed; what tells the same is hidden; what is another matter passes.
    #[test]
    fn several_fields() {
        let two = [FOR, "X-Real-IP", PROTO];
        for (believed, peer, fields, expected) in [
            (&two[..], "10.0.0.1", &[][..], "nothing"),
            (&two, "10.0.0.1", &[("X-Forwarded-Host", "a"), ("X-Other", "b")], "nothing"),
            (
                &two,
                "10.0.0.1",
                &[("x-real-ip", "6.6.6.6"), (FOR, "192.0.2.1"), ("X-Client-IP", "6.6.6.6"), (PROTO, "https")],
                "client 192.0.2.1; https; X-Forwarded-For=192.0.2.1; -X-Real-IP; -X-Client-IP",
            ),
            (&two, "10.0.0.1", &[("X-Real-IP", "192.0.2.1")], "client 192.0.2.1"),
            (
                &two,
                "10.0.0.1",
                &[(FOR, "6.6.6.6"), (FOR, "192.0.2.1")],
                "client 192.0.2.1; X-Forwarded-For=192.0.2.1",
            ),
            (&two, "192.0.2.9", &[(FOR, "1.1.1.1"), ("X-SCHEME", "https")], "-X-Forwarded-For; -X-Scheme"),
            (&two, "10.0.0.1", &[("Forwarded", "for=6.6.6.6"), (PROTO, "http")], "http; -Forwarded"),
            (
                &["Forwarded", FOR, PROTO],
                "10.0.0.1",
                &[(FOR, "6.6.6.6"), ("Forwarded", "for=192.0.2.1"), (PROTO, "https")],
                "client 192.0.2.1; Forwarded=for=192.0.2.1; -X-Forwarded-For; -X-Forwarded-Proto",
            ),
        ] {
            let trust = trust(believed);

            assert_eq!(expected, shown(told(&trust, peer, fields)), "{believed:?} {peer} {fields:?}");
        }
    }

    #[test]
    fn names() {
        let mut trust = trust(&FIELDS);

        assert_eq!(FIELDS.len(), trust.believed.len());
        assert_eq!(Ok(()), trust.believe("x-forwarded-for"));
        assert_eq!(Err(TrustError::Unknown("X-Mine".to_owned())), trust.believe("X-Mine"));
        assert_eq!(FIELDS.len(), trust.believed.len());
    }
}
