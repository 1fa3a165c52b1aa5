//! A target of requests: a URL of http, over TCP or a unix socket.

use std::fmt;
use std::net::{SocketAddr, ToSocketAddrs};
use std::path::PathBuf;
use std::str::FromStr;

/// The address at which a server listens.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Address {
    /// TCP.
    Tcp(SocketAddr),
    /// A unix socket.
    Unix(PathBuf),
}

/// A URL whose host name was looked up. It is written `http://HOST[:PORT][/PATH][?QUERY]`, where `http://` may be left
/// out, or `unix:SOCKET[:/PATH]`.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Url {
    /// The address of the server.
    pub address: Address,
    /// The Host field.
    pub host: String,
    /// The request target: path and query.
    pub target: String,
}

impl Url {
    /// Whether the address alone shows that the server is on this machine.
    pub(crate) fn is_local(&self) -> bool {
        match &self.address {
            Address::Tcp(address) => address.ip().is_loopback(),
            Address::Unix(_) => true,
        }
    }

    /// Returns another URL of the same server.
    ///
    /// # Errors
    ///
    /// Half a sentence, which says that the target must be percent-encoded.
    pub(crate) fn with_target(&self, target: &str) -> Result<Self, String> {
        Ok(Self { target: target_of(target)?, ..self.clone() })
    }
}

impl FromStr for Url {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        if let Some(rest) = text.strip_prefix("unix:") {
            let (socket, target) = rest.split_once(":/").unwrap_or((rest, ""));
            if socket.is_empty() {
                return Err("the path of the socket is missing: unix:/run/app.sock:/path".to_owned());
            }
            let host = "localhost".to_owned();
            return Ok(Self { address: Address::Unix(socket.into()), host, target: target_of(target)? });
        }
        if text.starts_with("https://") {
            return Err("TLS is not spoken: measure the server behind it, over http".to_owned());
        }
        let rest = text.strip_prefix("http://").unwrap_or(text);
        if rest.contains("://") {
            return Err("only http:// and unix: are understood".to_owned());
        }
        let end = rest.find(['/', '?', '#']).unwrap_or(rest.len());
        let (host, target) = rest.split_at(end);
        if host.is_empty() || host.contains('@') {
            return Err("write http://HOST:PORT/PATH".to_owned());
        }
        let address = look_up(host)?;
        Ok(Self { address: Address::Tcp(address), host: host.to_owned(), target: target_of(target)? })
    }
}

impl fmt::Display for Url {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match &self.address {
            Address::Tcp(_) => write!(f, "http://{}{}", self.host, self.target),
            Address::Unix(path) => write!(f, "unix:{}:{}", path.display(), self.target),
        }
    }
}

/// Returns the request target that follows the authority, without a fragment, which a client does not send (RFC 9110
/// section 4.2.5).
fn target_of(text: &str) -> Result<String, String> {
    let text = text.split('#').next().unwrap_or_default();
    if let Some(wrong) =
        text.chars().find(|letter| letter.is_control() || *letter == ' ' || !letter.is_ascii())
    {
        return Err(format!("{wrong:?} must be percent-encoded in a URL"));
    }
    Ok(if text.starts_with('/') { text.to_owned() } else { format!("/{text}") })
}

/// Returns the first address of a host, which may have a port.
fn look_up(host: &str) -> Result<SocketAddr, String> {
    let has_port =
        host.rsplit_once(':').is_some_and(|(before, _)| !before.contains(':') || before.ends_with(']'));
    let found = if has_port { host.to_socket_addrs() } else { format!("{host}:80").to_socket_addrs() };
    let first = found.map_err(|error| format!("{host} cannot be looked up: {error}"))?.next();
    first.ok_or_else(|| format!("{host} has no address"))
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used, reason = "an error here is a failed test")]

    use super::*;

    #[test]
    fn what_is_understood() {
        let cases = [
            ("http://127.0.0.1:8000", "127.0.0.1:8000", "/"),
            ("http://127.0.0.1:8000/a?b=c#d", "127.0.0.1:8000", "/a?b=c"),
            ("http://127.0.0.1/a", "127.0.0.1:80", "/a"),
            ("127.0.0.1:8000?b", "127.0.0.1:8000", "/?b"),
            ("http://[::1]:8000/", "[::1]:8000", "/"),
            ("http://[::1]/", "[::1]:80", "/"),
        ];
        for (text, address, target) in cases {
            let url: Url = text.parse().unwrap();
            assert_eq!(Address::Tcp(address.parse().unwrap()), url.address, "{text}");
            assert_eq!(target, url.target, "{text}");
        }
        let url: Url = "unix:/run/a.sock:/b".parse().unwrap();
        assert_eq!((Address::Unix("/run/a.sock".into()), "/b"), (url.address.clone(), url.target.as_str()));
        assert_eq!("unix:/run/a.sock:/b", url.to_string());
    }

    #[test]
    fn what_is_not() {
        for text in ["", "http://", "https://a", "ftp://a", "http://a b/", "http://127.0.0.1/ü", "unix:"] {
            assert!(text.parse::<Url>().is_err(), "{text}");
        }
    }
}
