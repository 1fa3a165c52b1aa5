//! Sockets at which a group accepts by itself: opened by the supervisor, kept under their addresses, and given to the
//! group's supervisor.
//!
//! A socket is held by the plans of the groups that name it, in the version that serves and in the version to come. A
//! version that names the same address finds the same socket, with the clients in its queue; a socket that no plan
//! names any more is closed.

use std::collections::BTreeMap;
use std::io;
use std::os::fd::{AsFd, AsRawFd, BorrowedFd, OwnedFd, RawFd};
use std::path::PathBuf;
use std::sync::{Arc, Weak};

use adyton_sys::child;
use serde::{Deserialize, Serialize};

/// A listening socket of a group. When a unix socket is dropped, its file is removed.
#[derive(Debug)]
pub struct GroupSocket {
    /// Key of the address, equal in any version of the file that names it.
    pub address: String,
    /// The address, for people.
    pub shown: String,
    /// The socket.
    pub socket: OwnedFd,
    /// The file of a unix socket.
    pub file: Option<PathBuf>,
}

impl AsFd for GroupSocket {
    fn as_fd(&self) -> BorrowedFd<'_> {
        self.socket.as_fd()
    }
}

impl Drop for GroupSocket {
    fn drop(&mut self) {
        if let Some(file) = &self.file {
            // A file that is gone already need not be removed.
            let _ = std::fs::remove_file(file);
        }
    }
}

/// The sockets that are held, by their addresses.
#[derive(Debug, Default)]
pub struct GroupSockets {
    held: BTreeMap<String, Vec<Weak<GroupSocket>>>,
}

impl GroupSockets {
    /// Makes a list of these sockets, which another program has left.
    pub fn knowing(all: &[Arc<GroupSocket>]) -> Self {
        let mut held: BTreeMap<String, Vec<Weak<GroupSocket>>> = BTreeMap::new();
        for socket in all {
            held.entry(socket.address.clone()).or_default().push(Arc::downgrade(socket));
        }
        Self { held }
    }

    /// Returns the addresses that are open.
    pub fn addresses(&self) -> impl Iterator<Item = &String> {
        let is_open = |sockets: &Vec<Weak<GroupSocket>>| sockets.iter().any(|one| one.strong_count() > 0);
        self.held.iter().filter(move |(_, sockets)| is_open(sockets)).map(|(address, _)| address)
    }

    /// Returns the sockets of an address, if they are held.
    pub fn find(&self, address: &str) -> Option<Vec<Arc<GroupSocket>>> {
        let sockets: Vec<_> = self.held.get(address)?.iter().filter_map(Weak::upgrade).collect();
        (!sockets.is_empty()).then_some(sockets)
    }

    /// Notes the sockets that were opened for an address.
    pub fn add(&mut self, address: &str, sockets: Vec<GroupSocket>) -> Vec<Arc<GroupSocket>> {
        let sockets: Vec<_> = sockets.into_iter().map(Arc::new).collect();
        self.held.retain(|_, weak| weak.iter().any(|one| one.strong_count() > 0));
        self.held.insert(address.to_owned(), sockets.iter().map(Arc::downgrade).collect());
        sockets
    }
}

/// A socket of a group, as a supervisor leaves it to its successor program.
#[derive(Debug, Serialize, Deserialize)]
pub(crate) struct NotedSocket {
    address: String,
    shown: String,
    socket: RawFd,
    file: Option<PathBuf>,
}

impl NotedSocket {
    pub(crate) fn new(socket: &GroupSocket) -> Self {
        Self {
            address: socket.address.clone(),
            shown: socket.shown.clone(),
            socket: socket.socket.as_raw_fd(),
            file: socket.file.clone(),
        }
    }

    pub(crate) fn take(&self) -> io::Result<GroupSocket> {
        Ok(GroupSocket {
            address: self.address.clone(),
            shown: self.shown.clone(),
            socket: child::inherit(self.socket)?,
            file: self.file.clone(),
        })
    }
}

#[cfg(test)]
mod tests {
    use std::io;

    use adyton_sys::socket;

    use super::{GroupSocket, GroupSockets};

    fn socket(address: &str) -> io::Result<GroupSocket> {
        let (address, shown) = (address.to_owned(), String::new());
        Ok(GroupSocket { address, shown, socket: socket::pair()?.0, file: None })
    }

    /// An address has the same sockets for as long as they are held, and is opened anew afterwards.
    #[test]
    fn held() -> io::Result<()> {
        let mut sockets = GroupSockets::default();
        let first = sockets.add("a", vec![socket("a")?, socket("a")?]);
        drop(sockets.add("b", vec![socket("b")?]));

        let again = sockets.find("a").unwrap_or_default();

        assert!(first.iter().zip(&again).all(|(one, other)| std::sync::Arc::ptr_eq(one, other)));
        assert_eq!((2, true), (again.len(), sockets.find("b").is_none()));
        assert_eq!(2, GroupSockets::knowing(&again).find("a").unwrap_or_default().len());

        drop((first, again));

        assert!(sockets.find("a").is_none());
        Ok(())
    }
}
