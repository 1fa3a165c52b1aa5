//! Where to listen: the forms of `--bind`, read and written back.

use std::fmt;
use std::net::{IpAddr, Ipv6Addr};
use std::path::PathBuf;
use std::str::FromStr;

use crate::settings::units::digits;

/// One address to listen at.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub enum Bind {
    /// `HOST:PORT`, `[v6]:PORT`, or `:PORT` for every IPv4 address of the machine.
    Tcp {
        /// A name or an address; IPv6 without its brackets.
        host: String,
        /// The port; 0: the kernel picks one.
        port: u16,
    },
    /// `unix:PATH`.
    Unix(PathBuf),
    /// `unix:@NAME`: an abstract name of unix(7), which is in no file system.
    Abstract(String),
    /// `fd://N`: a listening socket that the starting program left open.
    Fd(i32),
}

/// `sun_path` of unix(7) is 108 bytes with its NUL.
const UNIX_PATH_BYTES_MAX: usize = 107;

/// Length of the whole of `sun_path`, with the `@` of an abstract name.
const UNIX_NAME_BYTES_MAX: usize = 108;

/// The longest name of RFC 1035, section 2.3.4.
const HOST_BYTES_MAX: usize = 253;

/// The host that `:PORT` stands for.
pub(crate) const EVERY_ADDRESS: &str = "0.0.0.0";

impl Bind {
    /// Whether the address is the same at each start: for port 0 the kernel picks another port each time.
    pub fn is_one(&self) -> bool {
        !matches!(self, Self::Tcp { port: 0, .. })
    }

    /// Whether only this machine can connect.
    pub(crate) fn is_local(&self) -> bool {
        match self {
            Self::Tcp { host, .. } => {
                host == "localhost" || host.parse::<IpAddr>().is_ok_and(|address| address.is_loopback())
            }
            Self::Unix(_) | Self::Abstract(_) => true,
            Self::Fd(_) => false,
        }
    }
}

impl FromStr for Bind {
    type Err = String;

    fn from_str(text: &str) -> Result<Bind, String> {
        if let Some(path) = text.strip_prefix("unix:") {
            return unix(path);
        }
        if let Some(number) = text.strip_prefix("fd://") {
            let fd = digits(number).and_then(|number| number.parse().ok());
            return fd.map(Bind::Fd).ok_or_else(|| "a descriptor is written fd://3".to_owned());
        }
        if let Some((_, address)) = text.split_once("://") {
            return Err(format!("write the address alone: {address}"));
        }
        let Some((host, port)) = text.rsplit_once(':') else {
            return Err(match parse_port(text) {
                Ok(port) => format!("write :{port} for that port of every address, or HOST:{port}"),
                Err(_) => "write HOST:PORT, [v6]:PORT, unix:PATH, unix:@NAME or fd://N".to_owned(),
            });
        };
        let host = match host {
            "" => EVERY_ADDRESS.to_owned(),
            _ if host.contains(':') && !(host.starts_with('[') && host.ends_with(']')) => {
                return Err("an IPv6 address stands in brackets: [::1]:8000".to_owned());
            }
            _ => parse_host(host)?,
        };
        Ok(Bind::Tcp { host, port: parse_port(port)? })
    }
}

impl fmt::Display for Bind {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Bind::Tcp { host, port } if host.contains(':') => write!(f, "[{host}]:{port}"),
            Bind::Tcp { host, port } => write!(f, "{host}:{port}"),
            Bind::Unix(path) => write!(f, "unix:{}", path.display()),
            Bind::Abstract(name) => write!(f, "unix:@{name}"),
            Bind::Fd(fd) => write!(f, "fd://{fd}"),
        }
    }
}

/// Reads a host: a name, an IPv4 address, or an IPv6 address with or without its brackets.
///
/// # Errors
///
/// Half a sentence that says what is wrong with it.
pub(crate) fn parse_host(text: &str) -> Result<String, String> {
    let bare = text.strip_prefix('[').and_then(|rest| rest.strip_suffix(']'));
    if bare.is_some() || text.contains(':') {
        let host = bare.unwrap_or(text);
        // A link-local address has its interface behind `%` (RFC 4007 section 11).
        let (address, _) = host.split_once('%').unwrap_or((host, ""));
        return match address.parse::<Ipv6Addr>() {
            Ok(_) => Ok(host.to_owned()),
            Err(_) => Err(format!("{host} is not an IPv6 address")),
        };
    }
    let is_fine = |byte: u8| byte.is_ascii_alphanumeric() || b".-_".contains(&byte);
    if text.is_empty() || text.len() > HOST_BYTES_MAX || !text.bytes().all(is_fine) {
        return Err(format!(
            "\"{text}\" is neither a host name nor an address; {EVERY_ADDRESS} is every address"
        ));
    }
    Ok(text.to_owned())
}

/// Reads a port.
///
/// # Errors
///
/// Half a sentence that says what a port is.
pub(crate) fn parse_port(text: &str) -> Result<u16, String> {
    let port = digits(text).and_then(|number| number.parse().ok());
    port.ok_or_else(|| "a port is a number from 0 to 65535".to_owned())
}

fn unix(path: &str) -> Result<Bind, String> {
    match (path.len(), path.strip_prefix('@')) {
        (0, _) => Err("the path of the socket is missing".to_owned()),
        (1, Some(_)) => {
            Err("the name of the socket is missing; for a file of that name write unix:./@".to_owned())
        }
        // The kernel counts the NUL that it has in the place of the `@`, and needs no NUL behind the name.
        (..=UNIX_NAME_BYTES_MAX, Some(name)) => Ok(Bind::Abstract(name.to_owned())),
        (_, Some(_)) => Err(format!("the name of a socket has at most {UNIX_NAME_BYTES_MAX} bytes")),
        (..=UNIX_PATH_BYTES_MAX, None) => Ok(Bind::Unix(path.into())),
        (_, None) => Err(format!("the path of a socket has at most {UNIX_PATH_BYTES_MAX} bytes")),
    }
}
