//! The field `Forwarded`, RFC 7239.
//!
//! Its elements are read from the right, each for itself. So a client that sends an open quote spoils only its own
//! element, not the elements that proxies have appended.

use std::borrow::Cow;

use adyton_http::bytes::{is_token, is_token_byte};

use crate::address::{NodeAddress, read_port, split_port};

/// The facts that one proxy states about a request that it has received.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Element<'r> {
    /// `for`: the sender of the request.
    pub sender: Option<Node>,
    /// `by`: the address at which the proxy has received the request.
    pub by: Option<Node>,
    /// `proto`: the scheme of the request.
    pub proto: Option<Cow<'r, [u8]>>,
    /// `host`: the field `Host` of the request.
    pub host: Option<Cow<'r, [u8]>>,
}

/// A party on the way, section 6.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Node {
    /// A party with an address. A port that is a made-up name is no port.
    Address(NodeAddress),
    /// `unknown`.
    Unknown,
    /// A party whose name is made up, such as `_secret`.
    Hidden,
}

impl<'r> Element<'r> {
    /// Reads a `forwarded-element` of section 4, which has no blanks; `None` if the text is malformed, or has one of
    /// these four parameters twice. Other parameters are ignored.
    pub fn read(element: &'r [u8]) -> Option<Element<'r>> {
        let (mut told, mut rest) = (Element::default(), element);
        loop {
            if !matches!(rest, [] | [b';', ..]) {
                let pair = Pair::read(rest)?;
                rest = pair.behind;
                told.add(pair)?;
            }
            match rest {
                [] => return Some(told),
                [b';', more @ ..] => rest = more,
                _ => return None,
            }
        }
    }

    fn add(&mut self, pair: Pair<'r>) -> Option<()> {
        if pair.name.eq_ignore_ascii_case(b"for") {
            once(&mut self.sender, Node::read(&pair.value)?)
        } else if pair.name.eq_ignore_ascii_case(b"by") {
            once(&mut self.by, Node::read(&pair.value)?)
        } else if pair.name.eq_ignore_ascii_case(b"proto") {
            once(&mut self.proto, pair.value)
        } else if pair.name.eq_ignore_ascii_case(b"host") {
            once(&mut self.host, pair.value)
        } else {
            Some(())
        }
    }
}

fn once<T>(place: &mut Option<T>, value: T) -> Option<()> {
    place.replace(value).is_none().then_some(())
}

impl Node {
    /// Reads a `node` of section 6, without the quotes.
    fn read(node: &[u8]) -> Option<Node> {
        if let Some((ip, port)) = split_port(node) {
            let number = port.and_then(read_port);
            let is_well = number.is_some() || port.is_none_or(is_made_up);
            return is_well.then_some(Node::Address(NodeAddress { ip, port: number }));
        }
        let colon = node.iter().position(|&byte| byte == b':');
        let (name, port) = colon.map_or((node, None), |at| (&node[..at], Some(&node[at + 1..])));
        if !port.is_none_or(|port| is_made_up(port) || read_port(port).is_some()) {
            None
        } else if name.eq_ignore_ascii_case(b"unknown") {
            Some(Node::Unknown)
        } else {
            is_made_up(name).then_some(Node::Hidden)
        }
    }
}

/// `obfnode` and `obfport` of section 6.
fn is_made_up(name: &[u8]) -> bool {
    let is_allowed = |byte: &u8| byte.is_ascii_alphanumeric() || b"._-".contains(byte);
    name.len() > 1 && name.starts_with(b"_") && name.iter().all(is_allowed)
}

/// `forwarded-pair` of section 4, and the text behind it.
struct Pair<'r> {
    name: &'r [u8],
    value: Cow<'r, [u8]>,
    behind: &'r [u8],
}

impl<'r> Pair<'r> {
    fn read(bytes: &'r [u8]) -> Option<Pair<'r>> {
        let equals = bytes.iter().position(|&byte| byte == b'=')?;
        let (name, value) = (&bytes[..equals], &bytes[equals + 1..]);
        let (value, behind) = if let [b'"', quoted @ ..] = value {
            unquoted(quoted)?
        } else {
            let end = value.iter().position(|&byte| !is_token_byte(byte)).unwrap_or(value.len());
            (Cow::Borrowed(&value[..end]), &value[end..])
        };
        // An empty token is no value; a quoted string may be empty.
        let is_value = !value.is_empty() || bytes.get(equals + 1) == Some(&b'"');
        (is_token(name) && is_value).then_some(Pair { name, value, behind })
    }
}

/// The text between quotes (RFC 9110 section 5.6.4), and the text behind them, if `quoted` begins behind the first one.
fn unquoted(quoted: &[u8]) -> Option<(Cow<'_, [u8]>, &[u8])> {
    let end = quoted.iter().position(|byte| matches!(byte, b'"' | b'\\'))?;
    let (plain, mut rest) = quoted.split_at(end);
    if let [b'"', behind @ ..] = rest {
        return Some((Cow::Borrowed(plain), behind));
    }
    let mut text = plain.to_vec();
    loop {
        match rest {
            [b'"', behind @ ..] => return Some((Cow::Owned(text), behind)),
            [b'\\', byte, more @ ..] | [byte, more @ ..] => {
                text.push(*byte);
                rest = more;
            }
            [] => return None,
        }
    }
}

/// The last comma of a list, among the commas that are not between quotes.
///
/// Quotes pair up from the right as they do from the left, because backslashes stand only between quotes: a quote with
/// an odd number of backslashes in front of it is escaped.
pub(crate) fn last_comma(list: &[u8]) -> Option<usize> {
    let mut is_quoted = false;
    list.iter().enumerate().rposition(|(at, &byte)| {
        if byte == b'"' {
            let escapes = list[..at].iter().rev().take_while(|&&byte| byte == b'\\').count();
            is_quoted ^= escapes % 2 == 0;
        }
        byte == b',' && !is_quoted
    })
}

#[cfg(test)]
mod tests {
    use super::{Element, Node, last_comma};
    use crate::NodeAddress;

    fn at(ip: &str, port: Option<u16>) -> Option<Node> {
        ip.parse().ok().map(|ip| Node::Address(NodeAddress { ip, port }))
    }

    #[test]
    fn nodes() {
        for (value, sender) in [
            ("192.0.2.1", at("192.0.2.1", None)),
            (r#""192.0.2.1""#, at("192.0.2.1", None)),
            (r#""192.0.2.1:4711""#, at("192.0.2.1", Some(4711))),
            (r#""192.0.2.1:_port""#, at("192.0.2.1", None)),
            (r#""[2001:db8::1]""#, at("2001:db8::1", None)),
            (r#""[2001:DB8::1]:4711""#, at("2001:db8::1", Some(4711))),
            (r#""[::ffff:192.0.2.1]""#, at("192.0.2.1", None)),
            (r#""19\2.0.2.\1""#, at("192.0.2.1", None)),
            ("unknown", Some(Node::Unknown)),
            ("Unknown", Some(Node::Unknown)),
            (r#""unknown:80""#, Some(Node::Unknown)),
            ("_hidden", Some(Node::Hidden)),
            (r#""_SEVKISEK._-9:_x""#, Some(Node::Hidden)),
            ("", None),
            (r#""""#, None),
            ("192.0.2.1:4711", None),
            ("[2001:db8::1]", None),
            (r#""2001:db8::1""#, None),
            (r#""192.0.2.1:""#, None),
            (r#""192.0.2.1:65536""#, None),
            (r#""192.0.2.1:000001""#, None),
            (r#"" 192.0.2.1""#, None),
            ("192.0.2", None),
            ("localhost", None),
            ("_", None),
            ("_a!", None),
            (r#""_a:b""#, None),
            (r#""192.0.2.1"#, None),
            (r#""192.0.2.1\""#, None),
            (r#""192.0.2.1"x"#, None),
        ] {
            let element = format!("for={value}");
            let read = Element::read(element.as_bytes());

            assert_eq!(sender, read.and_then(|element| element.sender), "{element}");
        }
    }

    #[test]
    fn elements() {
        let sender = at("192.0.2.1", None);
        let with = |proto: Option<&'static str>, host: Option<&'static str>| {
            let bytes = |text: &'static str| text.as_bytes().into();
            Some(Element { sender, by: None, proto: proto.map(bytes), host: host.map(bytes) })
        };
        for (text, expected) in [
            ("", Some(Element::default())),
            (";;", Some(Element::default())),
            ("for=192.0.2.1", with(None, None)),
            ("FOR=192.0.2.1;", with(None, None)),
            (";for=192.0.2.1;;proto=https", with(Some("https"), None)),
            ("Proto=HTTP;for=192.0.2.1;Host=a.example", with(Some("HTTP"), Some("a.example"))),
            (r#"for=192.0.2.1;host="a.example:80";x=1;x="2,;""#, with(None, Some("a.example:80"))),
            (r#"for=192.0.2.1;host="a\"\\b""#, with(None, Some(r#"a"\b"#))),
            (r#"for=192.0.2.1;host="""#, with(None, Some(""))),
            ("by=_me;by=_me", None),
            ("for=192.0.2.1;FOR=192.0.2.1", None),
            ("for=192.0.2.1;by=me", None),
            ("for=192.0.2.1; proto=https", None),
            ("for =192.0.2.1", None),
            ("for= 192.0.2.1", None),
            ("for=192.0.2.1,for=192.0.2.2", None),
            ("for=192.0.2.1;host=a:80", None),
            ("for=192.0.2.1;host=", None),
            ("for=192.0.2.1;x", None),
            ("for=192.0.2.1;=x", None),
            (r#"for=192.0.2.1;"x"=y"#, None),
            (r#"for=192.0.2.1;x="y"#, None),
            (r#"for=192.0.2.1;x="\"#, None),
            ("for", None),
            ("192.0.2.1", None),
        ] {
            assert_eq!(expected, Element::read(text.as_bytes()), "{text}");
        }
        let both = Element::read(br#"for=_a;by="[::1]:80""#);
        assert_eq!(at("::1", Some(80)), both.and_then(|element| element.by));
    }

    #[test]
    fn commas() {
        for (list, comma) in [
            ("", None),
            ("a", None),
            (",", Some(0)),
            ("a,b,c", Some(3)),
            (r#"a,b=",""#, Some(1)),
            (r#"a="x,y",b="p,q""#, Some(7)),
            (r#"a="x\",y",b"#, Some(9)),
            (r#"a=",\\\",y""#, None),
            (r#"a="x\\",y"#, Some(7)),
            // An element that does not close its quotes ends at the next one all the same.
            (r#"for=",for=a"#, Some(5)),
            (r#"for="x,for="a,b""#, Some(6)),
        ] {
            assert_eq!(comma, last_comma(list.as_bytes()), "{list}");
        }
    }
}
