//! The meta-variables of a request (RFC 3875 section 4.1), and the variables that servers usually add.

use std::net::SocketAddr;

use adyton_http::{Known, Request, Version};

/// A request, and the facts about it that are not in its head.
#[derive(Clone, Copy)]
pub struct Facts<'f> {
    /// The request.
    pub request: Request<'f>,
    /// The part of the path that names the script, decoded: `SCRIPT_NAME` (section 4.1.13).
    pub script_name: &'f [u8],
    /// The rest of the path, decoded: `PATH_INFO` (section 4.1.5). Empty, or begins with a slash.
    pub path_info: &'f [u8],
    /// Length of the body: `CONTENT_LENGTH` (section 4.1.2); `None` without a body.
    pub body_bytes: Option<u64>,
    /// The client: `REMOTE_ADDR` (section 4.1.8). `None` for a client of a unix socket.
    pub client: Option<SocketAddr>,
    /// The address at which the client is connected: `SERVER_PORT` (section 4.1.15), and `SERVER_NAME` if the server
    /// has no other name.
    pub local: Option<SocketAddr>,
    /// The host that the client asked for, perhaps with a port, if a proxy reports a host that differs from the
    /// request's own.
    pub host: Option<&'f [u8]>,
    /// The port at which the client asked, if a proxy reports it.
    pub port: Option<u16>,
    /// Whether the client used https.
    pub is_https: bool,
    /// How the client was authenticated, and its user name: `AUTH_TYPE` and `REMOTE_USER` (sections 4.1.1 and 4.1.11).
    pub user: Option<(&'f str, &'f str)>,
    /// The set of names whose fields do not become variables, made of [`Known::bit`].
    pub hidden: u128,
    /// Names and the values that replace all fields of these names.
    pub rewritten: &'f [(Known, Box<[u8]>)],
}

/// Variables, each as `NAME=value` followed by a NUL. No variable holds another NUL.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Variables {
    block: Vec<u8>,
}

/// Fields that never become variables. `Proxy` would become `HTTP_PROXY`, which programs take for the address of their
/// proxy ("httpoxy", CVE-2016-5385). A proxy's password is not meant for the script. The script gets a chunked body
/// decoded. The length and the type of the body have variables of their own.
const NEVER: &[Known] = &[
    Known::ContentLength,
    Known::ContentType,
    Known::TransferEncoding,
    Known::ProxyAuthorization,
    Known::Connection,
    Known::KeepAlive,
    Known::Te,
    Known::Trailer,
];

impl Variables {
    /// Returns the variables of a request.
    pub fn of(facts: &Facts<'_>) -> Variables {
        let request = facts.request;
        let mut all = Variables { block: Vec::with_capacity(BLOCK_BYTES_USUAL) };
        all.set("GATEWAY_INTERFACE", b"CGI/1.1");
        all.set("SERVER_SOFTWARE", SOFTWARE.as_bytes());
        all.set(
            "SERVER_PROTOCOL",
            if request.version() == Version::Http10 { b"HTTP/1.0" } else { b"HTTP/1.1" },
        );
        all.set("REQUEST_METHOD", request.method_name());
        all.set("REQUEST_URI", request.target());
        all.set("REQUEST_SCHEME", if facts.is_https { b"https" } else { b"http" });
        if facts.is_https {
            all.set("HTTPS", b"on");
        }
        all.set("SCRIPT_NAME", facts.script_name);
        if !facts.path_info.is_empty() {
            all.set("PATH_INFO", facts.path_info);
        }
        // RFC 3875 section 4.1.7: the variable is set even if the request has no query.
        all.set("QUERY_STRING", request.query());
        all.set_places(facts);
        if let Some(bytes) = facts.body_bytes {
            all.set("CONTENT_LENGTH", itoa::Buffer::new().format(bytes).as_bytes());
        }
        if let Some(media_type) = request.first(Known::ContentType) {
            all.set("CONTENT_TYPE", media_type);
        }
        if let Some((scheme, name)) = facts.user {
            all.set("AUTH_TYPE", scheme.as_bytes());
            all.set("REMOTE_USER", name.as_bytes());
        }
        all.set_fields(facts);
        all
    }

    /// Adds a variable, unless its name or value holds a NUL.
    pub fn set(&mut self, name: &str, value: &[u8]) {
        self.set_named(name.as_bytes(), &[value]);
    }

    /// Returns the bytes of all variables, in the form of a program's environment.
    pub fn block(&self) -> &[u8] {
        &self.block
    }

    /// Returns the name and value of each variable, as `FastCGI` and SCGI send them.
    pub fn pairs(&self) -> impl Iterator<Item = (&[u8], &[u8])> {
        self.block.split(|&byte| byte == 0).filter_map(|variable| {
            let at = memchr::memchr(b'=', variable)?;
            Some((&variable[..at], &variable[at + 1..]))
        })
    }

    fn set_named(&mut self, name: &[u8], parts: &[&[u8]]) {
        let has_nul = |bytes: &[u8]| memchr::memchr(0, bytes).is_some();
        if has_nul(name) || parts.iter().any(|part| has_nul(part)) {
            return;
        }
        self.block.extend_from_slice(name);
        self.block.push(b'=');
        for part in parts {
            self.block.extend_from_slice(part);
        }
        self.block.push(0);
    }

    /// Adds the names, addresses and ports of the server and of the client.
    fn set_places(&mut self, facts: &Facts<'_>) {
        let asked = facts.host.or(facts.request.host()).unwrap_or_default();
        let (name, port) = split_port(asked);
        let usual = facts.local.map_or_else(|| "localhost".to_owned(), |local| local.ip().to_string());
        let name = if name.is_empty() { usual.as_bytes() } else { name };
        // Host names are case-insensitive (RFC 3986 section 3.2.2), and programs compare them.
        self.set("SERVER_NAME", &name.to_ascii_lowercase());
        let of_scheme = if facts.is_https { 443 } else { 80 };
        let port = facts.port.or(if facts.host.is_some() { port } else { None });
        let port = port.or(if facts.host.is_some() { Some(of_scheme) } else { None });
        let port = port.or(facts.local.map(|local| local.port())).unwrap_or(of_scheme);
        self.set("SERVER_PORT", itoa::Buffer::new().format(port).as_bytes());
        if let Some(local) = facts.local {
            self.set("SERVER_ADDR", local.ip().to_canonical().to_string().as_bytes());
        }
        if let Some(client) = facts.client {
            let address = client.ip().to_canonical().to_string();
            self.set("REMOTE_ADDR", address.as_bytes());
            // Section 4.1.9: if names are not looked up, the address is used instead.
            self.set("REMOTE_HOST", address.as_bytes());
            self.set("REMOTE_PORT", itoa::Buffer::new().format(client.port()).as_bytes());
        } else {
            // `REMOTE_ADDR` must be set (section 4.1.8); a client of a unix socket is on this machine.
            self.set("REMOTE_ADDR", b"127.0.0.1");
        }
    }

    /// Adds the request's fields (section 4.1.18); several fields of one name become one variable.
    fn set_fields(&mut self, facts: &Facts<'_>) {
        let request = facts.request;
        let never = NEVER.iter().fold(facts.hidden, |bits, known| bits | known.bit());
        let fields = request.fields();
        // The target may name a host even if no field does.
        if let Some(host) = request.host().filter(|_| !request.has(Known::Host)) {
            self.set("HTTP_HOST", host);
        }
        for (number, field) in fields.iter().enumerate() {
            let name = request.name(field);
            let is_hidden = field.known != Known::Other && never & field.known.bit() != 0;
            // A field `X_A` would become the same variable as `X-A`.
            if !field.plain || is_hidden || name.eq_ignore_ascii_case(b"Proxy") {
                continue;
            }
            let is_same = |other: &&adyton_http::Field| request.name(other).eq_ignore_ascii_case(name);
            if fields[..number].iter().any(|other| is_same(&other)) {
                continue;
            }
            let key = variable_name(name);
            let known =
                |(known, _): &&(Known, Box<[u8]>)| *known == field.known && field.known != Known::Other;
            if let Some((_, value)) = facts.rewritten.iter().find(known) {
                self.set_named(&key, &[value]);
                continue;
            }
            let separator: &[u8] = if field.known == Known::Cookie { b"; " } else { b", " };
            let mut parts = vec![request.value(field)];
            for other in fields[number + 1..].iter().filter(is_same) {
                parts.extend([separator, request.value(other)]);
            }
            self.set_named(&key, &parts);
        }
    }
}

/// Returns the name of a field's variable: `HTTP_ACCEPT_LANGUAGE` for `Accept-Language`.
fn variable_name(field: &[u8]) -> Vec<u8> {
    let upper = field.iter().map(|byte| if *byte == b'-' { b'_' } else { byte.to_ascii_uppercase() });
    b"HTTP_".iter().copied().chain(upper).collect()
}

/// Splits a host into its name and the port after it.
fn split_port(host: &[u8]) -> (&[u8], Option<u16>) {
    match host.iter().rposition(|&byte| byte == b':') {
        Some(colon) if !host[colon..].contains(&b']') => {
            let digits = std::str::from_utf8(&host[colon + 1..]).ok();
            (&host[..colon], digits.and_then(|digits| digits.parse().ok()))
        }
        _ => (host, None),
    }
}

/// `SERVER_SOFTWARE`: name and version of the server (section 4.1.17).
const SOFTWARE: &str = concat!("Adyton/", env!("CARGO_PKG_VERSION"));

/// Room for the variables of a browser's request.
const BLOCK_BYTES_USUAL: usize = 2048;

#[cfg(test)]
mod tests {
    use adyton_http::Known;
    use adyton_http1::{Head, Limits, Parsed};

    use super::{Facts, Variables};

    /// Returns the variables of a request, sorted; `change` changes the facts about it.
    fn variables(request: &str, change: impl FnOnce(&mut Facts<'_>)) -> Vec<String> {
        let mut head = Head::new();
        assert_eq!(Ok(Parsed::Complete), head.parse(request.as_bytes(), &Limits::default()));
        let mut facts = Facts {
            request: head.of(request.as_bytes()),
            script_name: b"/cgi-bin/a.sh",
            path_info: b"/x y",
            body_bytes: None,
            client: "[::ffff:192.0.2.7]:4000".parse().ok(),
            local: "192.0.2.1:8080".parse().ok(),
            host: None,
            port: None,
            is_https: false,
            user: None,
            hidden: 0,
            rewritten: &[],
        };
        change(&mut facts);
        let all = Variables::of(&facts);
        let text = |bytes: &[u8]| String::from_utf8_lossy(bytes).into_owned();
        let mut all: Vec<String> =
            all.pairs().map(|(name, value)| format!("{}={}", text(name), text(value))).collect();
        all.sort();
        all
    }

    const GET: &str = "GET /cgi-bin/a.sh/x%20y?q=1 HTTP/1.1\r\nHost: shop.example:81\r\n";

    #[test]
    fn of_a_request() {
        let request =
            format!("{GET}Accept: a\r\nX-One: 1\r\naccept: b\r\nCookie: c=d\r\nCookie: e=f\r\n\r\n");
        let expected = [
            "GATEWAY_INTERFACE=CGI/1.1",
            "HTTP_ACCEPT=a, b",
            "HTTP_COOKIE=c=d; e=f",
            "HTTP_HOST=shop.example:81",
            "HTTP_X_ONE=1",
            "PATH_INFO=/x y",
            "QUERY_STRING=q=1",
            "REMOTE_ADDR=192.0.2.7",
            "REMOTE_HOST=192.0.2.7",
            "REMOTE_PORT=4000",
            "REQUEST_METHOD=GET",
            "REQUEST_SCHEME=http",
            "REQUEST_URI=/cgi-bin/a.sh/x%20y?q=1",
            "SCRIPT_NAME=/cgi-bin/a.sh",
            "SERVER_ADDR=192.0.2.1",
            "SERVER_NAME=shop.example",
            "SERVER_PORT=8080",
            "SERVER_PROTOCOL=HTTP/1.1",
            &format!("SERVER_SOFTWARE={}", super::SOFTWARE),
        ];

        assert_eq!(expected[..], variables(&request, |_| ()));
    }

    #[test]
    fn of_a_body_and_a_user() {
        let request = "POST / HTTP/1.0\r\nContent-Type: a/b\r\nTransfer-Encoding: chunked\r\n\r\n"
            .replace("Transfer-Encoding: chunked", "Content-Length: 3");
        let all = variables(&request, |facts| {
            (facts.body_bytes, facts.user) = (Some(3), Some(("Basic", "ann")));
            (facts.is_https, facts.client, facts.local) = (true, None, None);
        });

        for expected in [
            "CONTENT_LENGTH=3",
            "CONTENT_TYPE=a/b",
            "AUTH_TYPE=Basic",
            "REMOTE_USER=ann",
            "HTTPS=on",
            "SERVER_NAME=localhost",
            "SERVER_PORT=443",
            "SERVER_PROTOCOL=HTTP/1.0",
            "REMOTE_ADDR=127.0.0.1",
        ] {
            assert!(all.iter().any(|variable| variable == expected), "{expected} in {all:?}");
        }
        assert!(!all.iter().any(|variable| variable.starts_with("HTTP_CONTENT")), "{all:?}");
    }

    /// A host in the target replaces the host of the Host field (RFC 9112 section 3.2.2).
    #[test]
    fn of_an_absolute_target() {
        for request in [
            "GET http://a.example:81/x HTTP/1.1\r\nHost: b.example\r\n\r\n",
            "GET http://a.example:81/x HTTP/1.0\r\n\r\n",
        ] {
            let all = variables(request, |_| ());
            let is_host = |name: &&String| name.starts_with("HTTP_HOST") || name.starts_with("SERVER_NAME");

            assert_eq!(
                vec!["HTTP_HOST=a.example:81", "SERVER_NAME=a.example"],
                all.iter().filter(is_host).collect::<Vec<_>>(),
                "{request}"
            );
        }
    }

    /// `SERVER_NAME` is in lower case, whatever case the client used; `HTTP_HOST` keeps the client's case.
    #[test]
    fn of_a_name_in_capitals() {
        let all = variables("GET / HTTP/1.1\r\nHost: SHOP.Example:81\r\n\r\n", |_| ());

        assert!(all.contains(&"SERVER_NAME=shop.example".to_owned()), "{all:?}");
        assert!(all.contains(&"HTTP_HOST=SHOP.Example:81".to_owned()), "{all:?}");
    }

    /// Fields that a client could use to mislead a script do not become variables.
    #[test]
    fn what_is_hidden() {
        let request = format!(
            "{GET}Proxy: evil\r\nX_One: 1\r\nProxy-Authorization: a\r\nAuthorization: Basic x\r\nForwarded: y\r\n\r\n"
        );
        let shown = variables(&request, |_| ());
        let hidden = variables(&request, |facts| facts.hidden = Known::Authorization.bit());
        let names = |all: &[String], name: &str| all.iter().any(|variable| variable.starts_with(name));

        assert!(names(&shown, "HTTP_AUTHORIZATION=") && !names(&hidden, "HTTP_AUTHORIZATION="));
        for name in ["HTTP_PROXY=", "HTTP_PROXY_AUTHORIZATION=", "HTTP_X_ONE="] {
            assert!(!names(&shown, name), "{name}");
        }
    }

    /// A trusted proxy reports which host the client asked for.
    #[test]
    fn behind_a_proxy() {
        let rewritten: &'static [(Known, Box<[u8]>)] =
            Box::leak(Box::new([(Known::XForwardedFor, Box::from(&b"192.0.2.9"[..]))]));
        let request = format!("{GET}X-Forwarded-For: forged\r\nX-Forwarded-For: 192.0.2.9\r\n\r\n");
        for (host, port, expected) in [
            (Some(&b"a.example"[..]), None, "443"),
            (Some(b"a.example:444"), None, "444"),
            (Some(b"[2001:db8::1]"), Some(445), "445"),
        ] {
            let all = variables(&request, |facts| {
                (facts.host, facts.port, facts.is_https) = (host, port, true);
                facts.rewritten = rewritten;
            });

            assert!(all.contains(&format!("SERVER_PORT={expected}")), "{all:?}");
            assert!(all.contains(&"HTTP_X_FORWARDED_FOR=192.0.2.9".to_owned()), "{all:?}");
        }
    }

    /// No variable can hold a NUL: the variable would end there for the kernel, and the rest would be another variable.
    #[test]
    fn no_nul() {
        let mut all = Variables::default();
        all.set("A", b"x\0B=y");
        all.set("C", b"z");

        assert_eq!(b"C=z\0", all.block());
    }
}
