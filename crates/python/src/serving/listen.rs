//! Listening sockets, as the settings name them.

use std::net::ToSocketAddrs;
use std::os::fd::OwnedFd;
use std::path::PathBuf;

use adyton_cli::{Bind, Settings};
use adyton_sys::socket;

use super::Failure;
use crate::wsgi::Listener;

/// An open listener.
pub(crate) struct Listening {
    pub(crate) socket: OwnedFd,
    /// The host and port that it is bound to; `None` for a unix socket.
    address: Option<std::net::SocketAddr>,
    /// The file of a unix socket that we made.
    pub(crate) path: Option<PathBuf>,
    /// As a user would write it.
    pub(crate) shown: String,
    /// A TCP socket beside which others can be bound.
    made_here: bool,
}

impl Listening {
    /// What a socket is that is open already.
    pub(crate) fn new(socket: OwnedFd) -> std::io::Result<Self> {
        let address = socket::local_address(&socket)?;
        let shown = match address {
            Some(address) => format!("http://{address}"),
            None => socket::local_path(&socket)
                .map_or_else(|| "a unix socket".to_owned(), |path| format!("unix:{}", path.display())),
        };
        let made_here = address.is_some() && socket::is_shared(&socket);
        Ok(Self { socket, address, path: None, shown, made_here })
    }

    /// The same for another loop: a socket beside it, among which the kernel spreads the connections
    /// (`SO_REUSEPORT`, socket(7)); or this one once more, where that cannot be.
    pub(crate) fn share(&self, backlog: u32) -> std::io::Result<Self> {
        let socket = match self.address {
            Some(address) if self.made_here => socket::listen_tcp(address, backlog, true)?,
            _ => self.socket.try_clone()?,
        };
        Self::new(socket)
    }

    /// Whether others can be bound beside it.
    pub(crate) fn is_shared(&self) -> bool {
        self.made_here
    }

    /// The very same once more.
    pub(crate) fn again(&self) -> Result<Self, Failure> {
        let socket = self.socket.try_clone().map_err(Failure::system)?;
        Ok(Self { socket, path: None, shown: self.shown.clone(), ..*self })
    }

    /// What applications learn of it.
    pub(crate) fn listener(&self) -> Listener {
        match self.address {
            Some(address) => Listener { name: address.ip().to_string(), port: address.port().to_string() },
            // A unix socket has no port, and PEP 3333 wants one: that of its scheme.
            None => Listener { name: "localhost".to_owned(), port: "80".to_owned() },
        }
    }
}

/// Opens everything that `--bind` names, once for each of `loops` loops; `shared`: there may be more later.
pub(crate) fn open(settings: &Settings, loops: usize, shared: bool) -> Result<Vec<Vec<Listening>>, Failure> {
    let mut first = Vec::new();
    let refused = |bind: &Bind| {
        let bind = bind.to_string();
        move |error| Failure::system(format!("cannot listen at {bind}: {error} (setting --bind)"))
    };
    for bind in &settings.bind {
        open_one(bind, settings.backlog, shared || loops > 1, &mut first).map_err(refused(bind))?;
    }
    let mut all = Vec::new();
    for _ in 1..loops {
        let share = |listening: &Listening| listening.share(settings.backlog);
        let shared: std::io::Result<_> = first.iter().map(share).collect();
        all.push(shared.map_err(|error| Failure::system(format!("cannot listen for every CPU: {error}")))?);
    }
    all.insert(0, first);
    Ok(all)
}

/// Opens what one address stands for.
///
/// # Errors
///
/// The address is in use, not of this machine, or not permitted.
pub(crate) fn open_one(
    bind: &Bind,
    backlog: u32,
    shared: bool,
    all: &mut Vec<Listening>,
) -> std::io::Result<()> {
    match bind {
        Bind::Unix(path) => {
            let listening = Listening::new(socket::listen_unix(path, backlog)?)?;
            all.push(Listening { path: Some(path.clone()), ..listening });
        }
        Bind::Fd(number) => all.push(Listening::new(socket::adopt(*number)?)?),
        // A name may stand for several addresses: `localhost` is one of each kind.
        Bind::Tcp { host, port } => {
            let mut port = *port;
            for mut address in (host.as_str(), port).to_socket_addrs()? {
                address.set_port(port);
                if shared {
                    // Sharing would let a second server of this user in beside the first: alone, it is refused.
                    let alone = Listening::new(socket::listen_tcp(address, backlog, false)?)?;
                    address.set_port(alone.address.map_or(port, |address| address.port()));
                }
                let made = Listening::new(socket::listen_tcp(address, backlog, shared)?)?;
                // All addresses of a name share the port that the kernel picked for the first.
                port = made.address.map_or(port, |address| address.port());
                all.push(made);
            }
        }
    }
    Ok(())
}
