//! Where the server listens.

use adyton_proxied::Trust;
use adyton_route::Networks;

use crate::settings::bind::{Bind, parse_host, parse_port};
use crate::settings::row::{Has, Kind, Row, Section};
use crate::settings::units::{Unit, octal};

/// Where the server listens, and which proxies it believes.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
#[expect(missing_docs, reason = "each field's documentation is the help of the row with its name")]
pub struct Listening {
    /// Addresses to listen at; `host` and `port` have become one of them. Empty only if each site has addresses of its
    /// own.
    pub bind: Vec<Bind>,
    pub host: String,
    pub port: u16,
    /// The mode of unix sockets; `None`: as the umask leaves it.
    pub socket_mode: Option<u32>,
    pub backlog: u32,
    /// Proxies whose header fields are believed; `trusted_fields` names these fields; empty: the default ones.
    pub trusted_proxies: Networks,
    pub trusted_fields: Vec<String>,
    pub proxy_protocol: bool,
}

impl<S: Has<Listening>> Section<S> for Listening {
    const HEADING: &'static str = "Listening";

    const ROWS: &'static [Row<S>] = &[
        Row {
            name: "bind",
            short: Some('b'),
            kind: Kind::Form {
                shape: "ADDRESS",
                set: |settings, text| text.parse().map(|bind| settings.as_mut().bind.push(bind)),
            },
            default: "127.0.0.1:8000",
            example: "unix:/run/adyton/site.sock",
            repeatable: true,
            help: "HOST:PORT, unix:PATH, unix:@NAME or fd://N",
            detail: "`:PORT` is that port at every IPv4 address. With port 0 the kernel picks a port, which the \
                     banner shows. `unix:@NAME` is an abstract name, which is in no file system (unix(7)): every user \
                     of the network namespace may connect, and the name is free again when the server has ended. \
                     `fd://N` is a listening socket that the server inherits from the program that started it. \
                     Sockets that a service manager hands over (`$LISTEN_FDS`, sd_listen_fds(3)) replace all \
                     addresses given here, unless one of these is an `fd://N`. The default is not reachable from \
                     other machines. `--bind` cannot be combined with `--host` or `--port`.",
            held: Some(|one, other| one.as_ref().bind == other.as_ref().bind),
            ..Self::ROW
        },
        Row {
            name: "host",
            kind: Kind::Form {
                shape: "HOST",
                set: |settings, text| parse_host(text).map(|host| settings.as_mut().host = host),
            },
            default: "127.0.0.1",
            example: "::1",
            help: "name or address to listen at",
            detail: "Makes one address, together with `--port`. `0.0.0.0` stands for every IPv4 address, and `::` for \
                     every IPv4 and IPv6 address, or for every IPv6 address alone if another `--bind` has the same \
                     port at an IPv4 address.",
            ..Self::ROW
        },
        Row {
            name: "port",
            short: Some('p'),
            kind: Kind::Form {
                shape: "PORT",
                set: |settings, text| parse_port(text).map(|port| settings.as_mut().port = port),
            },
            default: "8000",
            example: "8080",
            ambient: Some("PORT"),
            help: "port to listen at; $PORT is honoured",
            detail: "Platforms that run containers set `PORT` to the port where they expect an answer, and they \
                     connect from outside: such a port is opened at `0.0.0.0` unless a host is given. `$PORT` is \
                     ignored if a port or an address to bind is given in any other way.",
            ..Self::ROW
        },
        Row {
            name: "socket-mode",
            kind: Kind::Form {
                shape: "OCTAL",
                set: |settings, text| {
                    octal(text, "660").map(|bits| settings.as_mut().socket_mode = Some(bits))
                },
            },
            example: "660",
            help: "who may connect to unix sockets: chmod(1)",
            detail: "A client that connects needs write permission. If this is not set, the umask decides: the usual \
                     022 leaves 755, and only the user who starts the server can connect. 660 lets the socket's group \
                     in, too; with `--user` that is the group of the workers. The mode is set for each `unix:PATH` of \
                     `--bind`, before a client can connect. It does not apply to `--admin` and `--control`, nor to \
                     sockets that the server has not opened itself. The setting is refused with `unix:@NAME`, which \
                     has no permissions.",
            held: Some(|one, other| one.as_ref().socket_mode == other.as_ref().socket_mode),
            ..Self::ROW
        },
        Row {
            name: "backlog",
            kind: Kind::Number {
                unit: Unit::Count,
                least: 1,
                most: 65_535,
                // The range of the row makes the number fit.
                set: |settings, number| settings.as_mut().backlog = u32::try_from(number).unwrap_or(u32::MAX),
            },
            default: "4096",
            example: "1024",
            help: "connections that may wait in the kernel",
            detail: "The argument of listen(2). The kernel caps it at `net.core.somaxconn`, which is 4096 since Linux \
                     5.4; in a larger burst, clients wait a second before they try again.",
            held: Some(|one, other| one.as_ref().backlog == other.as_ref().backlog),
            ..Self::ROW
        },
        Row {
            name: "trusted-proxies",
            kind: Kind::Form {
                shape: "NETWORK",
                set: |settings, text| {
                    settings.as_mut().trusted_proxies.add(text).map_err(|error| error.to_string())
                },
            },
            example: "10.0.0.0/8",
            repeatable: true,
            help: "addresses of proxies that are believed",
            detail: "The values of their `trusted-fields` replace those of the connection: the client's address in \
                     logs, rules (`allow`, `remote`) and `REMOTE_ADDR`, https in `wsgi.url_scheme`, the host in \
                     `HTTP_HOST`. The client is the last address in `X-Forwarded-For` that is not a trusted proxy; \
                     the addresses before it are dropped. If another client sends these fields, the application does \
                     not see them. `unix` stands for clients of unix sockets.",
            ..Self::ROW
        },
        Row {
            name: "trusted-fields",
            kind: Kind::Form {
                shape: "FIELD",
                set: |settings, text| {
                    trusted_field(text).map(|field| settings.as_mut().trusted_fields.push(field))
                },
            },
            example: "X-Real-IP",
            repeatable: true,
            help: "fields of trusted-proxies that are believed",
            detail: "Name the fields that your proxy sets on every request, and no others: the proxy passes other \
                     fields on as its clients send them. The default is `X-Forwarded-For` and `X-Forwarded-Proto`. \
                     Possible fields are `Forwarded` (RFC 7239); for the address `X-Forwarded-For`, `X-Client-IP`, \
                     `X-Real-IP`; for the scheme `X-Forwarded-Proto`, `X-Forwarded-Scheme`, `X-Scheme`, \
                     `X-Forwarded-HTTPS`, `X-Forwarded-SSL`, `X-HTTPS`; for the host `X-Forwarded-Host`, `X-Host`; \
                     and `X-Forwarded-Server`, `X-Forwarded-Port`, `X-Script-Name`, `X-Forwarded-Script-Name`. If a \
                     request has several fields for the same value, such as the address, the one named first here \
                     applies, and the application does not see the others.",
            ..Self::ROW
        },
        Row {
            name: "proxy-protocol",
            kind: Kind::Switch { set: |settings, on| settings.as_mut().proxy_protocol = on },
            default: "off",
            example: "on",
            help: "trusted-proxies send a PROXY header first",
            detail: "Version 1 or 2, as HAProxy, load balancers of clouds and nginx (`proxy_protocol`) send it. A \
                     connection of a trusted proxy that begins with anything else is refused. Connections of other \
                     clients begin with a request, as always.",
            ..Self::ROW
        },
    ];
}

fn trusted_field(text: &str) -> Result<String, String> {
    Trust::read_field(text).map(|field| field.name().to_owned()).map_err(|error| error.to_string())
}
