//! Clients that may use a route: by their addresses, and with a password.

use std::net::IpAddr;

use crate::networks::Networks;

/// The clients that may use a route, by their addresses.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Admission {
    /// Addresses of clients that may use it; if there are none, all addresses that `deny` does not have.
    pub allow: Networks,
    /// Addresses of clients that may not use it, even if `allow` has them.
    pub deny: Networks,
    /// Whether clients with an address of `allow` need no password, and other clients may use the route with
    /// a password.
    pub replaces_password: bool,
}

/// The condition on which a client may use a route.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Door {
    /// The client may use the route without a password.
    Open,
    /// The client has to say who it is.
    Password,
    /// The client may not use it.
    Closed,
}

impl Admission {
    /// The condition for a client with this address; `None` is a client of a unix socket. `is_guarded`: the route asks
    /// for passwords.
    pub fn door(&self, is_guarded: bool, client: Option<IpAddr>) -> Door {
        let is_allowed = self.allow.has(client);
        match is_guarded {
            _ if self.deny.has(client) => Door::Closed,
            true if self.replaces_password && !is_allowed => Door::Password,
            true if self.replaces_password => Door::Open,
            _ if !self.allow.is_empty() && !is_allowed => Door::Closed,
            true => Door::Password,
            false => Door::Open,
        }
    }

    /// Whether addresses do not matter: they keep nobody out, and let nobody in without a password.
    pub fn is_open(&self) -> bool {
        self.allow.is_empty() && self.deny.is_empty()
    }
}

#[cfg(test)]
mod tests {
    use super::{Admission, Door};
    use crate::Networks;

    fn networks(texts: &[&str]) -> Networks {
        let mut networks = Networks::default();
        for text in texts {
            assert_eq!(Ok(()), networks.add(text));
        }
        networks
    }

    #[test]
    fn doors() {
        use Door::{Closed, Open, Password};

        let (ten, one) = (&["10.0.0.0/8"][..], &["10.0.0.1"][..]);
        // Allowed addresses, denied ones, and whether addresses replace a password; then the doors that 10.0.0.1,
        // 10.0.0.2 and 192.0.2.1 find, first at a route without a password, then at a route with one.
        for (allow, deny, replaces_password, bare, guarded) in [
            (&[][..], &[][..], false, [Open, Open, Open], [Password, Password, Password]),
            (ten, &[], false, [Open, Open, Closed], [Password, Password, Closed]),
            (&[], one, false, [Closed, Open, Open], [Closed, Password, Password]),
            (ten, one, false, [Closed, Open, Closed], [Closed, Password, Closed]),
            (ten, one, true, [Closed, Open, Closed], [Closed, Open, Password]),
            (ten, &[], true, [Open, Open, Closed], [Open, Open, Password]),
        ] {
            let admission = Admission { allow: networks(allow), deny: networks(deny), replaces_password };
            let doors = |is_guarded: bool| {
                ["10.0.0.1", "10.0.0.2", "192.0.2.1"]
                    .map(|client| admission.door(is_guarded, client.parse().ok()))
            };

            assert_eq!(
                (bare, guarded),
                (doors(false), doors(true)),
                "{allow:?} {deny:?} {replaces_password}"
            );
            assert_eq!(allow.is_empty() && deny.is_empty(), admission.is_open());
        }
    }
}
