//! Facts about a request that proxies have told.

use std::borrow::Cow;
use std::net::IpAddr;

use adyton_http::Known;

/// Facts about a request that proxies have told, and fields that the application must not see: see
/// [`crate::Trust::told`].
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Told<'r> {
    /// The client's address; `None` if it is the address from which the connection comes.
    pub client: Option<IpAddr>,
    /// The client's port; only with a client.
    pub client_port: Option<u16>,
    /// Whether the client has sent its request over HTTPS.
    pub https: Option<bool>,
    /// Host and perhaps port that the client has asked for, in a form that [`adyton_http::authority::read`] accepts.
    pub host: Option<Cow<'r, [u8]>>,
    /// The name of the proxy's server: a host without a port.
    pub server_name: Option<&'r [u8]>,
    /// The port that the client has connected to, never 0.
    pub port: Option<u16>,
    /// The path where the application is mounted, percent-encoded as it was sent: empty, or with a slash at its start
    /// and none at its end.
    pub script_name: Option<&'r [u8]>,
    /// The names of fields that must not reach the application, made of [`Known::bit`]. The request need not have all
    /// of them.
    pub stripped: u128,
    /// Values that replace all fields of a name together: the rest of a list from which claims were dropped. Usually
    /// there is no such value.
    pub rewritten: Vec<(Known, Cow<'r, [u8]>)>,
}

impl Told<'_> {
    /// Whether fields of this name must not reach the application.
    #[inline]
    pub fn strips(&self, known: Known) -> bool {
        self.stripped & known.bit() != 0
    }

    /// The value that takes the place of all fields of this name.
    #[inline]
    pub fn rewritten(&self, known: Known) -> Option<&[u8]> {
        self.rewritten.iter().find(|(name, _)| *name == known).map(|(_, value)| &**value)
    }

    /// The names in [`Told::stripped`], as their specifications write them.
    pub fn stripped_names(&self) -> impl Iterator<Item = &'static str> {
        Known::all().filter(|&known| self.strips(known)).map(Known::name)
    }
}
