//! Listening sockets, as the settings name them.

use std::net::ToSocketAddrs;
use std::os::fd::OwnedFd;
use std::path::PathBuf;
use std::sync::Arc;

use adyton_cli::{Bind, Group, Settings};
use adyton_process::{Entrance, GroupSocket, GroupSockets};
use adyton_sys::socket::{self, Access};

use crate::serving::failure::Failure;
use crate::values::text::one_line;
use crate::wsgi::Listener;

/// An open listener.
pub(crate) struct Listening {
    pub(crate) socket: OwnedFd,
    /// The host and port that the socket is bound to; `None` for a unix socket.
    address: Option<std::net::SocketAddr>,
    /// The address as a user would write it.
    pub(crate) shown: String,
    /// Whether other sockets can be bound to the same TCP address.
    pub(crate) is_shared: bool,
}

impl Listening {
    /// Describes a socket that is already open.
    pub(crate) fn new(socket: OwnedFd) -> std::io::Result<Self> {
        let address = socket::local_address(&socket)?;
        let shown = match address {
            Some(address) => format!("http://{address}"),
            None => unix_address(&socket),
        };
        let is_shared = address.is_some() && socket::is_shared(&socket);
        Ok(Self { socket, address, shown, is_shared })
    }

    /// A listener at the same address for another loop: a second socket, so that the kernel spreads the connections
    /// (`SO_REUSEPORT`, socket(7)), or, if that is impossible, a copy of this socket.
    pub(crate) fn share(&self, backlog: u32) -> std::io::Result<Self> {
        let socket = match self.address {
            Some(address) if self.is_shared && socket::is_ipv6_only(&self.socket) => {
                socket::listen_tcp_beside_ipv4(address, backlog, true)?
            }
            Some(address) if self.is_shared => socket::listen_tcp(address, backlog, true)?,
            _ => self.socket.try_clone()?,
        };
        Self::new(socket)
    }

    /// A copy of this listener, with the same socket.
    pub(crate) fn again(&self) -> Result<Self, Failure> {
        let socket = self.socket.try_clone().map_err(Failure::system)?;
        Ok(Self { socket, shown: self.shown.clone(), ..*self })
    }

    /// Name and port of this listener, for groups.
    pub(crate) fn entrance(&self) -> Entrance {
        let Listener { name, port } = self.listener();
        Entrance { name, port }
    }

    /// Name and port of this listener, for applications.
    pub(crate) fn listener(&self) -> Listener {
        match self.address {
            Some(address) => Listener { name: address.ip().to_string(), port: address.port().to_string() },
            // A unix socket has no port, and PEP 3333 wants one: the scheme's usual port.
            None => Listener { name: "localhost".to_owned(), port: "80".to_owned() },
        }
    }
}

/// The address of a unix socket, as `--bind` has it.
fn unix_address(socket: &OwnedFd) -> String {
    if let Some(path) = socket::local_path(socket) {
        return format!("unix:{}", path.display());
    }
    // Another program may have put any bytes into the name.
    let shown = |name: Vec<u8>| one_line(&format!("unix:@{}", String::from_utf8_lossy(&name)));
    socket::local_name(socket).map_or_else(|| "a unix socket".to_owned(), shown)
}

/// Opens all addresses of `--bind`, once for each of `loops` loops; with `shared`, more sockets may follow later. Unix
/// sockets with rights of their own go to `group`.
pub(crate) fn open(
    settings: &Settings,
    loops: usize,
    shared: bool,
    group: Option<u32>,
    files: &mut OwnFiles,
) -> Result<Vec<Vec<Listening>>, Failure> {
    let access = settings.listening.socket_mode.map(|mode| Access { mode, group });
    let (mut first, mut refused) = (Vec::new(), Vec::new());
    for bind in &settings.listening.bind {
        let sharing =
            Sharing { loops: shared || loops > 1, beside_ipv4: has_ipv4_of(bind, &settings.listening.bind) };
        match open_one(bind, settings.listening.backlog, sharing, access, files) {
            Ok(mut opened) => first.append(&mut opened),
            Err(error) => {
                let at = settings.said_at_bind(bind);
                refused.push(format!("{at}cannot listen at {bind}: {error} (setting --bind)"));
            }
        }
    }
    if !refused.is_empty() {
        return Err(Failure::Mistakes(refused, 1));
    }
    let mut all = Vec::new();
    for _ in 1..loops {
        let share = |listening: &Listening| listening.share(settings.listening.backlog);
        let shared: std::io::Result<_> = first.iter().map(share).collect();
        all.push(shared.map_err(|error| Failure::system(format!("cannot listen for every CPU: {error}")))?);
    }
    all.insert(0, first);
    Ok(all)
}

/// Opens the addresses of a group of its own. An address whose sockets are still held is not opened again.
///
/// # Errors
///
/// A line for each address that cannot be opened.
pub(crate) fn open_for_group(
    group: &Group,
    settings: &Settings,
    access: Option<Access>,
    sockets: &mut GroupSockets,
) -> Result<Vec<Arc<GroupSocket>>, Vec<String>> {
    let of_groups = settings.sites.iter().flat_map(|sites| &sites.groups).flat_map(|group| &group.bind);
    let others: Vec<Bind> = settings.listening.bind.iter().chain(of_groups).cloned().collect();
    let (mut all, mut refused) = (Vec::new(), Vec::new());
    for (number, bind) in group.bind.iter().enumerate() {
        let address = address_of(group, number);
        if let Some(held) = sockets.find(&address) {
            all.extend(held);
            continue;
        }
        let mut files = OwnFiles::default();
        let sharing = Sharing { loops: false, beside_ipv4: has_ipv4_of(bind, &others) };
        match open_one(bind, settings.listening.backlog, sharing, access, &mut files) {
            Ok(opened) => {
                let mut files = files.keep();
                let opened = opened.into_iter().map(|Listening { socket, shown, .. }| GroupSocket {
                    address: address.clone(),
                    shown,
                    socket,
                    file: files.pop(),
                });
                all.extend(sockets.add(&address, opened.collect()));
            }
            Err(error) => {
                let (at, name) = (&group.bind_said_at, &group.name);
                refused.push(format!("{at}bind: cannot listen at {bind} for the group {name}: {error}"));
            }
        }
    }
    if refused.is_empty() { Ok(all) } else { Err(refused) }
}

/// The sockets of the addresses that a group has to itself, if somebody holds them.
pub(crate) fn held_for_group(group: &Group, sockets: &GroupSockets) -> Vec<Arc<GroupSocket>> {
    let held = |number| sockets.find(&address_of(group, number)).unwrap_or_default();
    (0..group.bind.len()).flat_map(held).collect()
}

/// Key of an address, equal in two versions of a file. Port 0 gives each group another port, so the key then has the
/// group.
fn address_of(group: &Group, number: usize) -> String {
    let bind = &group.bind[number];
    if bind.is_one() { bind.to_string() } else { format!("{bind} {} {number}", group.name) }
}

/// Other listeners at the same address.
#[derive(Clone, Copy, Default)]
pub(crate) struct Sharing {
    /// Whether other loops of this server listen there.
    pub(crate) loops: bool,
    /// Whether another `--bind` has the same port for IPv4, so that `::` leaves IPv4 to it.
    pub(crate) beside_ipv4: bool,
}

/// Whether another of the addresses has the same port for IPv4.
fn has_ipv4_of(bind: &Bind, all: &[Bind]) -> bool {
    let Bind::Tcp { port, .. } = bind else { return false };
    *port != 0
        && all.iter().any(
            |other| matches!(other, Bind::Tcp { host, port: other } if other == port && !host.contains(':')),
        )
}

/// Opens the sockets of one address; `files` records the files that this makes.
///
/// # Errors
///
/// The address is in use, not of this machine, or not permitted.
pub(crate) fn open_one(
    bind: &Bind,
    backlog: u32,
    Sharing { loops: shared, beside_ipv4 }: Sharing,
    access: Option<Access>,
    files: &mut OwnFiles,
) -> std::io::Result<Vec<Listening>> {
    let mut all = Vec::new();
    match bind {
        Bind::Unix(path) => {
            let socket = socket::listen_unix(path, backlog, access)?;
            files.add(path.clone());
            all.push(Listening::new(socket)?);
        }
        Bind::Abstract(_) if access.is_some() => {
            let why = "a name that begins with @ is in no file system, so every user may connect: \
                       --socket-mode cannot say who";
            return Err(std::io::Error::new(std::io::ErrorKind::InvalidInput, why));
        }
        Bind::Abstract(name) => {
            all.push(Listening::new(socket::listen_abstract(name.as_bytes(), backlog)?)?);
        }
        Bind::Fd(number) => all.push(Listening::new(socket::adopt(*number)?)?),
        // A name may stand for several addresses: `localhost` has an IPv4 and an IPv6 one.
        Bind::Tcp { host, port } => {
            let listen = if beside_ipv4 { socket::listen_tcp_beside_ipv4 } else { socket::listen_tcp };
            let mut port = *port;
            for mut address in (host.as_str(), port).to_socket_addrs()? {
                address.set_port(port);
                if shared {
                    // A shared bind would succeed even if another server of this user has the address. A bind that is
                    // not shared, which is tried first, is refused then.
                    address.set_port(socket::free_tcp(address, beside_ipv4)?.port());
                }
                let made = Listening::new(listen(address, backlog, shared)?)?;
                // All addresses of a name share the port that the kernel picked for the first.
                port = made.address.map_or(port, |address| address.port());
                all.push(made);
            }
        }
    }
    Ok(all)
}

/// Files of unix sockets that this process must remove. Dropping this value removes them: at the end, and when a start
/// fails half-way.
#[derive(Default)]
pub(crate) struct OwnFiles(Vec<PathBuf>);

impl OwnFiles {
    /// The files that another program has made for these settings.
    pub(crate) fn taken(settings: &Settings) -> Self {
        let bound =
            settings.listening.bind.iter().chain(&settings.processes.admin).filter_map(|bind| match bind {
                Bind::Unix(path) => Some(path.clone()),
                _ => None,
            });
        Self(bound.collect())
    }

    /// Leaves the files to somebody else, who removes them.
    fn keep(mut self) -> Vec<PathBuf> {
        std::mem::take(&mut self.0)
    }

    /// Adds a file.
    pub(crate) fn add(&mut self, path: PathBuf) {
        self.0.push(path);
    }
}

impl Drop for OwnFiles {
    fn drop(&mut self) {
        for path in &self.0 {
            // A file that is already gone needs no removal.
            let _ = std::fs::remove_file(path);
        }
    }
}
