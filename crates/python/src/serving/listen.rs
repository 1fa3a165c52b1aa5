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
}

impl Listening {
    fn new(socket: OwnedFd) -> std::io::Result<Self> {
        let address = socket::local_address(&socket)?;
        let shown = match address {
            Some(address) => format!("http://{address}"),
            None => socket::local_path(&socket)
                .map_or_else(|| "a unix socket".to_owned(), |path| format!("unix:{}", path.display())),
        };
        Ok(Self { socket, address, path: None, shown })
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

/// Opens everything that `--bind` names.
pub(crate) fn open(settings: &Settings) -> Result<Vec<Listening>, Failure> {
    let mut all = Vec::new();
    for bind in &settings.bind {
        open_one(bind, settings.backlog, &mut all)
            .map_err(|error| Failure::system(format!("cannot listen at {bind}: {error} (setting --bind)")))?;
    }
    Ok(all)
}

fn open_one(bind: &Bind, backlog: u32, all: &mut Vec<Listening>) -> std::io::Result<()> {
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
                let listening = Listening::new(socket::listen_tcp(address, backlog)?)?;
                // All addresses of a name share the port that the kernel picked for the first.
                port = listening.address.map_or(port, |address| address.port());
                all.push(listening);
            }
        }
    }
    Ok(())
}
