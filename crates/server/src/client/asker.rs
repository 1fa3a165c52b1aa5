//! The sender of a request, beyond the address at the other end of the connection.

use std::net::SocketAddr;
use std::sync::Arc;

use adyton_http::{Known, Request};
use adyton_proxied::{Told, Trust};

use crate::client::user::User;

/// The sender of a request: the facts that trusted proxies have told, and the user that it has proved to be.
#[derive(Clone, Debug, Default)]
pub struct Asker {
    /// The user, if the server authenticates its clients.
    pub user: Option<Arc<User>>,
    /// The number of the guard that let that user in.
    pub(crate) guard: Option<u64>,
    /// The client's address, if a proxy has told it; the port is 0 if it is not known.
    pub client: Option<SocketAddr>,
    /// Whether the client has sent the request by https, if a proxy has told that.
    pub is_https: Option<bool>,
    /// The host that the client has asked for, perhaps with a port.
    pub host: Option<Box<[u8]>>,
    /// The name of the server that the client has asked.
    pub server_name: Option<Box<[u8]>>,
    /// The port to which the client has sent the request.
    pub server_port: Option<u16>,
    /// The path at which the proxy has mounted the application.
    pub script_name: Option<Box<[u8]>>,
    /// Names of fields that the application must not see, made of [`Known::bit`].
    pub stripped: u128,
    /// Values that replace all fields of a name together.
    pub rewritten: Vec<(Known, Box<[u8]>)>,
}

impl Asker {
    /// The sender of a request as a trusted proxy tells it; `None` if no proxy tells anything. `peer` is the other end
    /// of the connection.
    #[inline(never)]
    pub(crate) fn told(trust: &Trust, peer: Option<SocketAddr>, request: Request<'_>) -> Option<Box<Asker>> {
        let told = trust.told(peer.map(|peer| peer.ip()), request);
        (told != Told::default()).then(|| Box::new(told.into()))
    }

    /// Whether the application sees this field as it was sent.
    pub fn shows(&self, known: Known) -> bool {
        let is_secret = self.user.is_some() && known == Known::Authorization;
        !is_secret
            && self.stripped & known.bit() == 0
            && self.rewritten.iter().all(|(name, _)| *name != known)
    }

    /// Names of fields that the application must not see at all.
    pub fn hidden(&self) -> impl Iterator<Item = Known> {
        Known::all().filter(|known| self.stripped & known.bit() != 0)
    }
}

impl From<Told<'_>> for Asker {
    fn from(told: Told<'_>) -> Asker {
        let port = told.client_port.unwrap_or(0);
        let rewritten = told.rewritten.into_iter().map(|(known, value)| (known, value.into_owned().into()));
        Asker {
            user: None,
            guard: None,
            client: told.client.map(|client| SocketAddr::new(client, port)),
            is_https: told.https,
            host: told.host.map(|host| host.into_owned().into()),
            server_name: told.server_name.map(Into::into),
            server_port: told.port,
            script_name: told.script_name.map(Into::into),
            stripped: told.stripped,
            rewritten: rewritten.collect(),
        }
    }
}
