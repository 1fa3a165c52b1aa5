//! `listen`: an address to bind, or the work of a proxy in front.

use super::lex::Directive;

/// A directive `listen`.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Listen {
    /// The address as `bind` takes it.
    pub(super) bind: String,
    pub(super) tls: bool,
    pub(super) is_default: bool,
    pub(super) proxied: bool,
    pub(super) directive: Directive,
}

/// Reads a `listen`; `None` if its address is wrong.
pub(super) fn read(directive: &Directive) -> Option<Listen> {
    let flag = |name: &str| directive.args.iter().skip(1).any(|arg| arg == name);
    let tls = flag("ssl") || flag("quic");
    let address = directive.arg(0);
    let is_port = |text: &str| !text.is_empty() && text.bytes().all(|byte| byte.is_ascii_digit());
    let bind = if address.starts_with("unix:") {
        address.to_owned()
    } else if is_port(address) {
        format!("0.0.0.0:{address}")
    } else {
        let address =
            address.strip_prefix('*').map_or_else(|| address.to_owned(), |rest| format!("0.0.0.0{rest}"));
        let has_port = address
            .rsplit_once(':')
            .is_some_and(|(host, port)| is_port(port) && (!host.contains(':') || host.ends_with(']')));
        if has_port { address } else { format!("{address}:80") }
    };
    let is_default = flag("default_server") || flag("default");
    let proxied = flag("proxy_protocol");
    (!address.is_empty()).then(|| Listen { bind, tls, is_default, proxied, directive: directive.clone() })
}

#[cfg(test)]
mod tests {
    use super::read;
    use crate::model::Place;
    use crate::nginx::lex::Directive;

    #[test]
    fn addresses() {
        let cases = [
            ("80", "0.0.0.0:80"),
            ("*:8080", "0.0.0.0:8080"),
            ("[::]:80", "[::]:80"),
            ("[::1]", "[::1]:80"),
            ("127.0.0.1", "127.0.0.1:80"),
            ("localhost:81", "localhost:81"),
            ("unix:/run/x.sock", "unix:/run/x.sock"),
        ];
        for (text, bind) in cases {
            let place = Place { file: "x".into(), line: 1 };
            let directive =
                Directive { name: "listen".to_owned(), args: vec![text.to_owned()], place, block: None };
            let found = read(&directive).map(|listen| listen.bind);

            assert_eq!(Some(bind.to_owned()), found, "{text}");
        }
    }
}
