//! The clients that may ask the admin listener, and their questions.
//!
//! Any client may send probes: they say whether the server is well, and nothing else. All other questions show the
//! server's traffic, and are for clients on this machine, or with the token.

use std::net::IpAddr;

use adyton_http::{Known, Request};

/// The settings of the admin listener.
#[derive(Clone, Debug, Default)]
pub struct Access {
    /// The token that a monitor has to show (RFC 6750); without one, other machines may only send probes.
    pub token: Option<String>,
    /// Host names that a request to the listener may name, besides `localhost` and every address.
    pub hosts: Vec<String>,
}

/// The paths of probes, which say whether all is well.
const PROBES: [&[u8]; 2] = [b"/livez", b"/readyz"];

/// The reason why a client gets no answer: a status, and a sentence.
pub(crate) type Denied = (u16, &'static str);

const MISNAMED: Denied = (
    421,
    "ask this listener by localhost, by an address, or by a name that --admin-hosts lists: a page from another server \
     could use any other name",
);

const NO_TOKEN: Denied = (
    403,
    "only /livez and /readyz are answered here: this listener can be reached from elsewhere, and there is no token for it \
     (--admin-token, or $ADYTON_ADMIN_TOKEN)",
);

const WRONG_TOKEN: Denied = (401, "this needs the token of --admin-token: Authorization: Bearer TOKEN");

impl Access {
    /// Returns why this request is not answered; `None` if it is answered. `is_near` says that no other machine can
    /// connect.
    pub(crate) fn denies(&self, request: Request<'_>, is_near: bool) -> Option<Denied> {
        if PROBES.contains(&request.path()) {
            return None;
        }
        let host = request.host();
        let authorization = request.first(Known::Authorization);
        self.denies_asked(host, authorization, is_near)
    }

    fn denies_asked(
        &self,
        host: Option<&[u8]>,
        authorization: Option<&[u8]>,
        is_near: bool,
    ) -> Option<Denied> {
        if host.is_some_and(|host| !self.knows(host)) {
            return Some(MISNAMED);
        }
        match &self.token {
            None if is_near => None,
            None => Some(NO_TOKEN),
            Some(token) => (!shows(authorization, token.as_bytes())).then_some(WRONG_TOKEN),
        }
    }

    /// Whether `host` is a name of this listener. A browser that names another site was led here by that site (DNS
    /// rebinding); such an attack needs a name, so every address is accepted.
    fn knows(&self, host: &[u8]) -> bool {
        let Ok(host) = str::from_utf8(host) else { return false };
        let name = match host.strip_prefix('[') {
            Some(rest) => rest.split(']').next().unwrap_or_default(),
            None => host.split(':').next().unwrap_or_default(),
        };
        let is = |known: &str| known.eq_ignore_ascii_case(name);
        name.parse::<IpAddr>().is_ok() || is("localhost") || self.hosts.iter().any(|known| is(known))
    }
}

/// Whether a field says `Bearer` and the token. The time of the comparison does not tell how much of the token is
/// right.
fn shows(authorization: Option<&[u8]>, token: &[u8]) -> bool {
    let Some((scheme, shown)) = authorization.and_then(|value| value.split_at_checked(b"Bearer ".len()))
    else {
        return false;
    };
    let differs = shown.iter().zip(token).fold(0, |differs, (one, other)| differs | (one ^ other));
    scheme.eq_ignore_ascii_case(b"Bearer ")
        && shown.len() == token.len()
        && std::hint::black_box(differs) == 0
}

#[cfg(test)]
mod tests {
    use super::{Access, MISNAMED, NO_TOKEN, WRONG_TOKEN};

    /// Addresses, `localhost` and the set names are accepted; no other name is accepted, even if it begins or ends with
    /// one of them.
    #[test]
    fn hosts() {
        let access = Access { token: None, hosts: vec!["monitor.example".to_owned()] };
        for (host, denied) in [
            ("localhost", false),
            ("LOCALHOST:9090", false),
            ("127.0.0.1:9090", false),
            ("192.0.2.7", false),
            ("[::1]:9090", false),
            ("Monitor.example:80", false),
            ("evil.example", true),
            ("evil.example:9090", true),
            ("localhost.evil.example", true),
            ("127.0.0.1.evil.example", true),
            ("xmonitor.example", true),
            ("", true),
        ] {
            let found = access.denies_asked(Some(host.as_bytes()), None, true);

            assert_eq!(denied.then_some(MISNAMED), found, "{host}");
        }
        assert_eq!(None, access.denies_asked(None, None, true), "no browser leaves it away");
    }

    /// A listener with a token asks every client for it. A listener without a token tells clients on other machines
    /// nothing.
    #[test]
    fn tokens() {
        let open = Access::default();
        let closed = Access { token: Some("sixteen letters.".to_owned()), hosts: Vec::new() };
        let ask = |access: &Access, shown: Option<&str>, is_near| {
            access.denies_asked(Some(b"127.0.0.1"), shown.map(str::as_bytes), is_near)
        };

        assert_eq!((None, Some(NO_TOKEN)), (ask(&open, None, true), ask(&open, None, false)));
        for wrong in [
            None,
            Some(""),
            Some("Bearer"),
            Some("Bearer "),
            Some("sixteen letters."),
            Some("Basic sixteen letters."),
            Some("Bearer sixteen letters"),
            Some("Bearer sixteen letters.."),
            Some("Bearer Sixteen letters."),
        ] {
            assert_eq!(
                [Some(WRONG_TOKEN); 2],
                [true, false].map(|near| ask(&closed, wrong, near)),
                "{wrong:?}"
            );
        }
        assert_eq!(None, ask(&closed, Some("Bearer sixteen letters."), false));
        assert_eq!(None, ask(&closed, Some("bearer sixteen letters."), true));
    }
}
