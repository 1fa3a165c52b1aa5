//! Notices to a service manager: `sd_notify(3)`, without its library.

use std::env;
use std::ffi::OsStr;
use std::os::linux::net::SocketAddrExt;
use std::os::unix::ffi::OsStrExt;
use std::os::unix::net::{SocketAddr, UnixDatagram};

use adyton_log::{self as log, messages};
use adyton_sys::{clock, process};

/// The line to the service manager, if there is one.
pub(crate) struct Manager {
    socket: Option<(UnixDatagram, SocketAddr)>,
    /// How often the manager wants to hear that all is well.
    watchdog_ms: Option<u64>,
    heard_ms: u64,
}

impl Manager {
    /// Makes a line without a manager.
    pub(crate) fn none() -> Self {
        Self { socket: None, watchdog_ms: None, heard_ms: 0 }
    }

    /// Finds the manager by `$NOTIFY_SOCKET` and `$WATCHDOG_USEC`.
    pub(crate) fn find() -> Self {
        let address = env::var_os("NOTIFY_SOCKET").filter(|name| !name.is_empty());
        let socket = address.and_then(|address| match (address_of(&address), UnixDatagram::unbound()) {
            (Ok(address), Ok(socket)) => Some((socket, address)),
            (Err(error), _) | (_, Err(error)) => {
                log::write(
                    &messages::MANAGER_UNKNOWN,
                    format_args!("$NOTIFY_SOCKET cannot be used: {error}"),
                );
                None
            }
        });
        let number = |name| env::var(name).ok().and_then(|text| text.parse::<u64>().ok());
        let is_ours = number("WATCHDOG_PID").is_none_or(|pid| pid == u64::from(process::id()));
        let watchdog_ms =
            number("WATCHDOG_USEC").filter(|us| is_ours && *us > 0).map(|us| (us / 2000).max(1));
        Self { socket, watchdog_ms, heard_ms: 0 }
    }

    /// Says that the first worker serves, or a reload is over.
    pub(crate) fn ready(&self, status: &str) {
        self.say(&format!("READY=1\nMAINPID={}\nSTATUS={status}", process::id()));
    }

    /// Says that a reload begins; the manager waits for the next [`Self::ready`].
    pub(crate) fn reloading(&self) {
        self.say(&format!("RELOADING=1\nMONOTONIC_USEC={}\nSTATUS=reloading", clock::monotonic_us()));
    }

    /// Says that the server stops.
    pub(crate) fn stopping(&self) {
        self.say("STOPPING=1\nSTATUS=stopping");
    }

    /// Returns how long the supervisor may sleep, for the watchdog's sake.
    pub(crate) fn patience_ms(&self) -> u64 {
        self.watchdog_ms.unwrap_or(u64::MAX)
    }

    /// Says that all is well, as often as the manager wants.
    pub(crate) fn beat(&mut self, now_ms: u64) {
        if self.watchdog_ms.is_some_and(|every_ms| now_ms >= self.heard_ms + every_ms) {
            self.heard_ms = now_ms;
            self.say("WATCHDOG=1");
        }
    }

    fn say(&self, text: &str) {
        if let Some((socket, address)) = &self.socket
            && let Err(error) = socket.send_to_addr(text.as_bytes(), address)
        {
            log::write(
                &messages::MANAGER_UNHEARD,
                format_args!("the service manager cannot be notified: {error}"),
            );
        }
    }
}

/// Returns the address of a name; a name that begins with `@` stands for an abstract address (unix(7)).
fn address_of(name: &OsStr) -> std::io::Result<SocketAddr> {
    match name.as_bytes().strip_prefix(b"@") {
        Some(name) => SocketAddr::from_abstract_name(name),
        None => SocketAddr::from_pathname(name),
    }
}
