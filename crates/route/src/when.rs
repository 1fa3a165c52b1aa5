//! Conditions of a route, beside its path.

use std::net::IpAddr;

use adyton_http::{Method, Request};
use percent_encoding::percent_decode;

use crate::networks::Networks;

/// The conditions that a request must meet to take a route: all of them. An empty list asks for nothing.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct When {
    /// Methods, as they are sent: the request has one of them. `GET` stands for `HEAD`, too.
    pub methods: Vec<Box<[u8]>>,
    /// Fields that the request has.
    pub fields: Vec<Wanted>,
    /// Parameters that its query has, decoded.
    pub query: Vec<Wanted>,
    /// Addresses: the request's client has one of them.
    pub remote: Networks,
}

/// A name with a value.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Wanted {
    /// The name; of a field in any case.
    pub name: Box<[u8]>,
    /// The value; `None` allows any.
    pub value: Option<Box<[u8]>>,
}

/// Whether a request takes a route.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Taken {
    /// The request takes the route.
    Yes,
    /// With another method the request would take it.
    OtherMethod,
    /// A field, a parameter or the client's address does not match.
    No,
}

impl Wanted {
    fn is(&self, value: &[u8]) -> bool {
        self.value.as_deref().is_none_or(|wanted| wanted == value)
    }
}

impl When {
    /// Whether a request, from a client with this address, meets the conditions; `None` is a client of a unix socket.
    pub fn takes(&self, request: Request<'_>, client: Option<IpAddr>) -> Taken {
        let has_field = |field: &Wanted| request.all_named(&field.name).any(|value| field.is(value));
        let is_near = self.remote.is_empty() || self.remote.has(client);
        if !is_near || !self.fields.iter().all(has_field) || !self.has_query(request.query()) {
            return Taken::No;
        }
        let name = if request.method() == Method::Head { b"GET" } else { request.method_name() };
        let mut methods = self.methods.iter().map(|method| &**method);
        if self.methods.is_empty() || methods.any(|method| method == name || method == request.method_name())
        {
            Taken::Yes
        } else {
            Taken::OtherMethod
        }
    }

    fn has_query(&self, query: &[u8]) -> bool {
        let has = |wanted: &Wanted| {
            query.split(|&byte| byte == b'&').any(|pair| {
                let equals = pair.iter().position(|&byte| byte == b'=').unwrap_or(pair.len());
                let value = pair.get(equals + 1..).unwrap_or_default();
                decoded(&pair[..equals]) == *wanted.name && wanted.is(&decoded(value))
            })
        };
        self.query.iter().all(has)
    }
}

/// A name or a value of a query, as forms send it (URL standard, `application/x-www-form-urlencoded`).
fn decoded(text: &[u8]) -> Vec<u8> {
    let spaced: Vec<u8> = text.iter().map(|&byte| if byte == b'+' { b' ' } else { byte }).collect();
    percent_decode(&spaced).collect()
}

#[cfg(test)]
mod tests {
    use adyton_http1::{Head, Limits, Parsed};

    use super::{Taken, Wanted, When};
    use crate::Networks;

    fn taken(when: &When, method: &str, target: &str, field: &str, client: &str) -> Taken {
        let bytes = format!("{method} {target} HTTP/1.1\r\nHost: a\r\n{field}\r\n");
        let mut head = Head::new();
        assert_eq!(Ok(Parsed::Complete), head.parse(bytes.as_bytes(), &Limits::default()));
        when.takes(head.of(bytes.as_bytes()), client.parse().ok())
    }

    fn wanted(name: &str, value: Option<&str>) -> Vec<Wanted> {
        let bytes = |text: &str| text.as_bytes().into();
        vec![Wanted { name: bytes(name), value: value.map(bytes) }]
    }

    #[test]
    fn all_must_fit() {
        let mut remote = Networks::default();
        assert_eq!(Ok(()), remote.add("192.0.2.0/24"));
        let methods = vec![b"GET"[..].into(), b"PURGE"[..].into()];
        let when =
            When { methods, fields: wanted("X-Beta", Some("1")), query: wanted("a b", Some("c&d")), remote };
        for (method, target, field, client, expected) in [
            ("GET", "/?a+b=c%26d", "X-Beta: 1\r\n", "192.0.2.1", Taken::Yes),
            ("HEAD", "/?x&a%20b=c%26d", "x-beta: 1\r\n", "192.0.2.1", Taken::Yes),
            ("PURGE", "/?a+b=c%26d", "X-Beta: 0\r\nX-Beta: 1\r\n", "192.0.2.1", Taken::Yes),
            ("POST", "/?a+b=c%26d", "X-Beta: 1\r\n", "192.0.2.1", Taken::OtherMethod),
            ("get", "/?a+b=c%26d", "X-Beta: 1\r\n", "192.0.2.1", Taken::OtherMethod),
            ("GET", "/?a+b=c", "X-Beta: 1\r\n", "192.0.2.1", Taken::No),
            ("GET", "/?a+b", "X-Beta: 1\r\n", "192.0.2.1", Taken::No),
            ("GET", "/?a+b=c%26d", "X-Beta: 11\r\n", "192.0.2.1", Taken::No),
            ("GET", "/?a+b=c%26d", "", "192.0.2.1", Taken::No),
            ("GET", "/?a+b=c%26d", "X-Beta: 1\r\n", "192.0.3.1", Taken::No),
            ("GET", "/?a+b=c%26d", "X-Beta: 1\r\n", "unix", Taken::No),
        ] {
            assert_eq!(expected, taken(&when, method, target, field, client), "{method} {target} {field}");
        }
    }

    #[test]
    fn anything() {
        assert_eq!(Taken::Yes, taken(&When::default(), "BREW", "/", "", "unix"));

        let any = When { fields: wanted("X", None), query: wanted("q", None), ..When::default() };

        assert_eq!(Taken::Yes, taken(&any, "GET", "/?q", "X: anything\r\n", "::1"));
        assert_eq!(Taken::No, taken(&any, "GET", "/?qq=1", "X: anything\r\n", "::1"));
    }
}
