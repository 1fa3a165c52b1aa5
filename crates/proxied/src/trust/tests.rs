//! Tables of requests through trusted and other proxies, and a simple reference implementation of the walk.

use std::net::IpAddr;

use adyton_http::{Known, Request};
use adyton_http1::{Head, Limits, Parsed};
use adyton_route::Networks;

use super::{FIELDS, FieldError, Trust};
use crate::{NodeAddress, Told};

/// Believes `fields` of proxies in 10.0.0.0/8 and `fd00::/8`.
fn trust(fields: &str) -> Trust {
    let mut proxies = Networks::default();
    for range in ["10.0.0.0/8", "fd00::/8"] {
        assert_eq!(Ok(()), proxies.add(range));
    }
    let mut trust = Trust::new(proxies);
    for field in fields.split_whitespace() {
        assert_eq!(Ok(()), trust.add_field(field), "{field}");
    }
    trust
}

/// Hands a request with these fields, which are separated by `|`, to `use_request`.
fn with_request<T>(fields: &str, use_request: impl FnOnce(Request<'_>) -> T) -> T {
    let lines: Vec<_> = fields.split('|').filter(|line| !line.is_empty()).collect();
    let lines = lines.iter().flat_map(|line| [line.trim(), "\r\n"]).collect::<String>();
    let bytes = format!("GET / HTTP/1.1\r\nHost: a\r\n{lines}\r\n");
    let limits = Limits { fields_max: 1000, ..Limits::default() };
    let mut head = Head::new();
    assert_eq!(Ok(Parsed::Complete), head.parse(bytes.as_bytes(), &limits), "{fields}");
    use_request(head.of(bytes.as_bytes()))
}

/// Returns all facts that were told, as text; a stripped field is shown only if it was sent.
fn told(trust: &Trust, peer: &str, fields: &str) -> String {
    with_request(fields, |request| in_words(&trust.told(peer.parse().ok(), request), request))
}

fn in_words(told: &Told<'_>, request: Request<'_>) -> String {
    let text = |bytes: &[u8]| bytes.escape_ascii().to_string();
    let mut words = Vec::new();
    let mut say =
        |name: &str, value: Option<String>| words.extend(value.map(|value| format!("{name} {value}")));
    say("client", told.client.map(|ip| ip.to_string()));
    say("from", told.client_port.map(|port| port.to_string()));
    say("https", told.https.map(|https| https.to_string()));
    say("host", told.host.as_deref().map(text));
    say("server", told.server_name.map(text));
    say("port", told.port.map(|port| port.to_string()));
    say("script", told.script_name.map(|path| format!("'{}'", text(path))));
    for (known, value) in &told.rewritten {
        say(known.name(), Some(format!("= {}", text(value))));
    }
    for known in Known::all().filter(|&known| request.has(known) && told.strips(known)) {
        say("no", Some(known.name().to_owned()));
    }
    words.join("; ")
}

fn check(trusted: &str, peer: &str, cases: &[(&str, &str)]) {
    let trust = trust(trusted);
    for (fields, expected) in cases {
        assert_eq!(*expected, told(&trust, peer, fields), "{fields} from {peer}, {trusted}");
    }
}

#[test]
fn chains() {
    check(
        "X-Forwarded-For",
        "10.0.0.1",
        &[
            ("", ""),
            ("Accept: */*", ""),
            ("X-Forwarded-For: 192.0.2.1", "client 192.0.2.1"),
            ("x-forwarded-for: 192.0.2.1:80", "client 192.0.2.1; from 80"),
            ("X-Forwarded-For: [2001:db8::1]:80", "client 2001:db8::1; from 80"),
            ("X-Forwarded-For: 2001:db8::1", "client 2001:db8::1"),
            ("X-Forwarded-For: ::ffff:192.0.2.1", "client 192.0.2.1"),
            ("X-Forwarded-For: 192.0.2.1, 10.0.0.2", "client 192.0.2.1"),
            ("X-Forwarded-For: 192.0.2.1, fd00::2,10.0.0.2", "client 192.0.2.1"),
            ("X-Forwarded-For: 192.0.2.1, ::ffff:10.0.0.2", "client 192.0.2.1"),
            ("X-Forwarded-For: 6.6.6.6, 192.0.2.1", "client 192.0.2.1; X-Forwarded-For = 192.0.2.1"),
            ("X-Forwarded-For: 10.6.6.6,192.0.2.1", "client 192.0.2.1; X-Forwarded-For = 192.0.2.1"),
            (
                "X-Forwarded-For: 6.6.6.6, 192.0.2.1, 10.0.0.2",
                "client 192.0.2.1; X-Forwarded-For = 192.0.2.1, 10.0.0.2",
            ),
            (
                "X-Forwarded-For: 6.6.6.6|X-Forwarded-For: 192.0.2.1",
                "client 192.0.2.1; X-Forwarded-For = 192.0.2.1",
            ),
            ("X-Forwarded-For: 192.0.2.1|X-Forwarded-For: 10.0.0.2", "client 192.0.2.1"),
            (
                "X-Forwarded-For: 6.6.6.6,192.0.2.1|Accept: */*|X-Forwarded-For: 10.0.0.3,10.0.0.2",
                "client 192.0.2.1; X-Forwarded-For = 192.0.2.1, 10.0.0.3,10.0.0.2",
            ),
            ("X-Forwarded-For: , 192.0.2.1 ,, 10.0.0.2,", "client 192.0.2.1"),
            // All are proxies, so the first of them is the client.
            ("X-Forwarded-For: 10.0.0.3, 10.0.0.2", "client 10.0.0.3"),
            // An element that is no address ends the walk.
            ("X-Forwarded-For: unknown", "no X-Forwarded-For"),
            ("X-Forwarded-For:", "no X-Forwarded-For"),
            ("X-Forwarded-For: ,", "no X-Forwarded-For"),
            ("X-Forwarded-For: 192.0.2.1, unknown", "no X-Forwarded-For"),
            ("X-Forwarded-For: 192.0.2.1, <script>, 10.0.0.2", "client 10.0.0.2; X-Forwarded-For = 10.0.0.2"),
            (
                "X-Forwarded-For: 192.0.2.1, 192.0.2, 10.0.0.3:1, 10.0.0.2",
                "client 10.0.0.3; from 1; X-Forwarded-For = 10.0.0.3:1, 10.0.0.2",
            ),
            // Synonyms are stripped; fields that speak of something else are not.
            ("X-Real-IP: 6.6.6.6", "no X-Real-IP"),
            ("X-Real-IP: 6.6.6.6|X-Forwarded-For: 192.0.2.1", "client 192.0.2.1; no X-Real-IP"),
            (
                "X-Client-IP: 6.6.6.6|Forwarded: for=6.6.6.6|X-Forwarded-For: x",
                "no Forwarded; no X-Client-IP; no X-Forwarded-For",
            ),
            ("X-Forwarded-For: 192.0.2.1|X-Forwarded-Proto: https|X-Host: b", "client 192.0.2.1"),
        ],
    );
}

#[test]
fn who_is_not_trusted_tells_nothing() {
    let all =
        "Forwarded: for=6.6.6.6|X-Forwarded-For: 6.6.6.6|X-Real-IP: 6.6.6.6|X-Forwarded-SSL: on|X-Host: b";
    let stripped = "no Forwarded; no X-Forwarded-For; no X-Real-IP";
    for peer in ["192.0.2.1", "11.0.0.1", "2001:db8::1", "unix"] {
        check("X-Forwarded-For", peer, &[("", ""), (all, stripped), ("X-Host: b", "")]);
        check("", peer, &[("", ""), (all, "")]);
        check("X-Forwarded-Port X-Scheme", peer, &[(all, "no Forwarded; no X-Forwarded-SSL")]);
    }
    let mut unix = Networks::default();
    assert_eq!(Ok(()), unix.add("unix"));
    let mut trust = Trust::new(unix);
    assert_eq!(Ok(()), trust.add_field("x-real-ip"));
    assert_eq!("client 192.0.2.1", told(&trust, "unix", "X-Real-IP: 192.0.2.1"));
    assert_eq!("no X-Real-IP", told(&trust, "127.0.0.1", "X-Real-IP: 192.0.2.1"));
}

#[test]
fn single_values() {
    let all =
        "X-Client-IP X-Real-IP X-Forwarded-Proto X-Forwarded-HTTPS X-Forwarded-Host X-Host X-Forwarded-Server
        X-Forwarded-Port X-Script-Name";
    check(
        all,
        "fd00::1",
        &[
            ("X-Real-IP: 192.0.2.1", "client 192.0.2.1"),
            ("X-Client-IP: 10.0.0.1", "client 10.0.0.1"),
            ("X-Client-IP: a", "no X-Client-IP"),
            ("X-Real-IP: 192.0.2.2|X-Client-IP: 192.0.2.1", "client 192.0.2.1; no X-Real-IP"),
            // A bad value of the first field is no reason to believe the second field.
            ("X-Real-IP: 192.0.2.2|X-Client-IP: a", "no X-Client-IP; no X-Real-IP"),
            ("X-Forwarded-Proto: https", "https true"),
            ("X-Forwarded-Proto: HTTP", "https false"),
            ("X-Forwarded-Proto: ftp", "no X-Forwarded-Proto"),
            ("X-Forwarded-Proto: ", "no X-Forwarded-Proto"),
            ("X-Forwarded-Proto: https, http", "https false; X-Forwarded-Proto = http"),
            ("X-Forwarded-Proto: https|X-Forwarded-Proto: http", "https false; X-Forwarded-Proto = http"),
            ("X-Forwarded-Proto: https, x", "no X-Forwarded-Proto"),
            ("X-Forwarded-HTTPS: on", "https true"),
            ("X-Forwarded-HTTPS: 0", "https false"),
            ("X-Forwarded-HTTPS: https", "no X-Forwarded-HTTPS"),
            (
                "X-Forwarded-HTTPS: on|X-Forwarded-Proto: http|X-Scheme: https",
                "https false; no X-Forwarded-HTTPS; no X-Scheme",
            ),
            ("X-Forwarded-Host: b.example:8080", "host b.example:8080"),
            ("X-Forwarded-Host: 6.example, b.example", "host b.example; X-Forwarded-Host = b.example"),
            ("X-Forwarded-Host: b/c", "no X-Forwarded-Host"),
            ("X-Forwarded-Host: a@b|X-Host: c", "no X-Forwarded-Host; no X-Host"),
            ("X-Host: [::1]:80", "host [::1]:80"),
            ("X-Forwarded-Server: b.example", "server b.example"),
            ("X-Forwarded-Server: b.example:80", "no X-Forwarded-Server"),
            ("X-Forwarded-Port: 8443", "port 8443"),
            ("X-Forwarded-Port: 0", "no X-Forwarded-Port"),
            ("X-Forwarded-Port: 65536", "no X-Forwarded-Port"),
            ("X-Forwarded-Port: 80,443", "port 443; X-Forwarded-Port = 443"),
            ("X-Script-Name: /", "script ''"),
            ("X-Script-Name: /a,b/", "script '/a,b'"),
            ("X-Script-Name: /6|X-Script-Name: /a", "script '/a'; X-Script-Name = /a"),
            ("X-Script-Name: a", "no X-Script-Name"),
            ("X-Script-Name: //a.example/", "no X-Script-Name"),
            ("X-Forwarded-Script-Name: /a", "no X-Forwarded-Script-Name"),
            ("X-Forwarded-Prefix: /a|X-Request-ID: 1|X_Forwarded_Port: 1", ""),
            (
                "X-Real-IP: 192.0.2.1|X-Forwarded-Proto: https|X-Host: b|X-Forwarded-Server: c|X-Forwarded-Port: 1|
                X-Script-Name: /d",
                "client 192.0.2.1; https true; host b; server c; port 1; script '/d'",
            ),
        ],
    );
}

#[test]
fn forwarded() {
    check(
        "Forwarded",
        "10.0.0.1",
        &[
            (
                "Forwarded: for=192.0.2.1;proto=https;host=b.example;by=_me",
                "client 192.0.2.1; https true; host b.example",
            ),
            ("forwarded: For=\"[2001:db8::1]:4711\"", "client 2001:db8::1; from 4711"),
            ("Forwarded: for=6.6.6.6, for=192.0.2.1", "client 192.0.2.1; Forwarded = for=192.0.2.1"),
            (
                "Forwarded: for=6.6.6.6;host=6, for=192.0.2.1;host=b|Forwarded: for=10.0.0.2;host=c",
                "client 192.0.2.1; host b; Forwarded = for=192.0.2.1;host=b, for=10.0.0.2;host=c",
            ),
            ("Forwarded: for=192.0.2.1, for=10.0.0.2;proto=https", "client 192.0.2.1; https true"),
            ("Forwarded: for=10.0.0.3, for=10.0.0.2", "client 10.0.0.3"),
            ("Forwarded: proto=https;host=\"b:80\"", "https true; host b:80"),
            ("Forwarded: for=unknown;proto=https", "https true"),
            (
                "Forwarded: for=6.6.6.6, for=_hidden;proto=http",
                "https false; Forwarded = for=_hidden;proto=http",
            ),
            ("Forwarded: for=_hidden, for=10.0.0.2", "client 10.0.0.2"),
            ("Forwarded: for=6.6.6.6 for, for=10.0.0.2", "client 10.0.0.2; Forwarded = for=10.0.0.2"),
            ("Forwarded: for=\"6, for=192.0.2.1", "client 192.0.2.1; Forwarded = for=192.0.2.1"),
            ("Forwarded: for=192.0.2.1;x=\"a,for=b\"", "client 192.0.2.1"),
            ("Forwarded: for=192.0.2.1:80", "no Forwarded"),
            ("Forwarded: 192.0.2.1", "no Forwarded"),
            ("Forwarded: ", "no Forwarded"),
            // A malformed value is ignored, and its field does not reach the application.
            ("Forwarded: for=192.0.2.1;proto=ftp;host=b", "client 192.0.2.1; host b; no Forwarded"),
            (
                "Forwarded: for=192.0.2.1;proto=https;host=\"b/c\"",
                "client 192.0.2.1; https true; no Forwarded",
            ),
            ("Forwarded: for=192.0.2.1;host=\"b\\.c\"", "client 192.0.2.1; host b.c"),
            (
                "Forwarded: for=192.0.2.1|X-Forwarded-For: 6.6.6.6|X-Scheme: https|X-Host: 6|X-Forwarded-Port: 6",
                "client 192.0.2.1; no X-Forwarded-For; no X-Host; no X-Scheme",
            ),
        ],
    );
}

#[test]
fn forwarded_among_others() {
    let fields = "Forwarded: for=192.0.2.1;proto=https;host=b|X-Forwarded-For: 192.0.2.2|X-Host: c";

    check(
        "Forwarded X-Forwarded-For",
        "10.0.0.1",
        &[
            (fields, "client 192.0.2.1; https true; host b; no X-Forwarded-For; no X-Host"),
            ("X-Forwarded-For: 192.0.2.2", "client 192.0.2.2"),
        ],
    );
    check(
        "X-Forwarded-For Forwarded x-forwarded-for",
        "10.0.0.1",
        &[
            (fields, "client 192.0.2.2; https true; host b; no Forwarded; no X-Host"),
            (
                "Forwarded: for=10.0.0.3;host=b, for=10.0.0.2|X-Forwarded-For: x",
                "host b; no Forwarded; no X-Forwarded-For",
            ),
        ],
    );
    let both = [(fields, "client 192.0.2.2; https true; host c; no Forwarded")];
    check("X-Host X-Forwarded-For Forwarded", "10.0.0.1", &both);
}

#[test]
fn names() {
    for (known, form) in FIELDS {
        assert_eq!(Ok(known), Trust::read_field(&known.name().to_ascii_lowercase()));
        assert!(form.topics() != 0);
    }
    for name in ["", "Host", "X-Forwarded-Prefix", "X_Forwarded_For", "HTTP_X_FORWARDED_FOR", "*"] {
        assert_eq!(Err(FieldError), Trust::read_field(name), "{name}");
        assert_eq!(Err(FieldError), trust("").add_field(name), "{name}");
    }
    let sentence = FieldError.to_string();
    assert!(sentence.starts_with("write one of Forwarded, X-Forwarded-For, "), "{sentence}");

    let client = ["Forwarded", "X-Client-IP", "X-Forwarded-For", "X-Real-IP"];
    let stripped = with_request("X-Real-IP: 192.0.2.1", |request| {
        trust("X-Forwarded-For").told(None, request).stripped_names().collect::<Vec<_>>()
    });
    assert_eq!(client.as_slice(), stripped);
}

/// The walk in its simplest form: goes through all elements from the last to the first, and stops after the first
/// untrusted address or before one that cannot be read.
fn naive(trust: &Trust, lines: &[String]) -> (Option<IpAddr>, Vec<String>) {
    let list = lines.join(",");
    let elements = list.split(',').map(str::trim).filter(|element| !element.is_empty());
    let (mut client, mut kept) = (None, Vec::new());
    for element in elements.rev() {
        let Some(address) = NodeAddress::read(element.as_bytes()) else { break };
        client = Some(address.ip);
        kept.insert(0, element.to_owned());
        if !trust.proxies.has(client) {
            break;
        }
    }
    (client, kept)
}

/// Random lists (addresses, proxies, garbage, empty elements) in up to three fields: the client and the kept list equal
/// the results of the reference.
#[test]
fn walks_agree_with_the_slow_one() {
    const ELEMENTS: [&str; 8] =
        ["10.0.0.2", "fd00::3", "10.0.0.4:5", "192.0.2.1", "[2001:db8::1]:80", "x", "", " "];
    let trust = trust("X-Forwarded-For");
    let mut state = 1_u32;
    let mut draw = |below: u32| {
        state = state.wrapping_mul(1_664_525).wrapping_add(1_013_904_223);
        (state >> 16) % below
    };
    for _ in 0..20_000 {
        let lines: Vec<String> = (0..=draw(3))
            .map(|_| (0..draw(5)).map(|_| ELEMENTS[draw(8) as usize]).collect::<Vec<_>>().join(","))
            .collect();
        let fields: Vec<_> = lines.iter().map(|line| format!("X-Forwarded-For: {line}")).collect();
        let (client, kept) = naive(&trust, &lines);
        with_request(&fields.join("|"), |request| {
            let told = trust.told("10.0.0.1".parse().ok(), request);
            let rewritten =
                told.rewritten(Known::XForwardedFor).map(|value| String::from_utf8_lossy(value).into_owned());
            let left = if told.strips(Known::XForwardedFor) {
                String::new()
            } else {
                rewritten.unwrap_or(lines.join(","))
            };
            let left: Vec<_> = left.split(',').map(str::trim).filter(|element| !element.is_empty()).collect();

            assert_eq!(
                (client, kept),
                (told.client, left.into_iter().map(str::to_owned).collect()),
                "{lines:?}"
            );
        });
    }
}
