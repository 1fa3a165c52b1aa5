//! Which fields of which proxies are believed, and the facts in these fields.

use std::fmt;
use std::net::IpAddr;

use adyton_http::{Known, Request};
use adyton_route::Networks;

use crate::address::NodeAddress;
use crate::forwarded::{self, Element, Node};
use crate::list::{Kept, LastComma, Step, last_comma, no_comma, walk};
use crate::told::Told;
use crate::x_forwarded::{is_host, is_https, is_on, is_server_name, port, script_name};

/// Which fields of which proxies are believed.
///
/// A trusted field has a topic: the client, the scheme, the host and so on. Other fields with this topic are its
/// synonyms. Of all these fields only the one that is believed reaches the application, because a proxy sets or appends
/// to the fields that it knows, and passes the others on as its client has sent them. Fields with another topic are
/// left alone.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Trust {
    proxies: Networks,
    /// In the order in which they are believed.
    fields: Vec<(Known, Form)>,
    /// The names of `fields` and of all their synonyms.
    watched: u128,
}

/// The form of a field's value.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Form {
    /// Addresses: each proxy appends the address from which it got the request.
    Chain,
    Address,
    Scheme,
    /// Whether TLS is on.
    Switch,
    Host,
    ServerName,
    Port,
    ScriptName,
    /// RFC 7239.
    Forwarded,
}

/// All fields that can be trusted.
const FIELDS: [(Known, Form); 16] = [
    (Known::Forwarded, Form::Forwarded),
    (Known::XForwardedFor, Form::Chain),
    (Known::XClientIp, Form::Address),
    (Known::XRealIp, Form::Address),
    (Known::XForwardedProto, Form::Scheme),
    (Known::XForwardedScheme, Form::Scheme),
    (Known::XScheme, Form::Scheme),
    (Known::XForwardedHttps, Form::Switch),
    (Known::XForwardedSsl, Form::Switch),
    (Known::XHttps, Form::Switch),
    (Known::XForwardedHost, Form::Host),
    (Known::XHost, Form::Host),
    (Known::XForwardedServer, Form::ServerName),
    (Known::XForwardedPort, Form::Port),
    (Known::XScriptName, Form::ScriptName),
    (Known::XForwardedScriptName, Form::ScriptName),
];

/// The topics that fields speak of, a bit for each.
const CLIENT: u8 = 1;
const SCHEME: u8 = 2;
const HOST: u8 = 4;
const SERVER_NAME: u8 = 8;
const PORT: u8 = 16;
const SCRIPT_NAME: u8 = 32;

impl Form {
    fn topics(self) -> u8 {
        match self {
            Form::Chain | Form::Address => CLIENT,
            Form::Scheme | Form::Switch => SCHEME,
            Form::Host => HOST,
            Form::ServerName => SERVER_NAME,
            Form::Port => PORT,
            Form::ScriptName => SCRIPT_NAME,
            Form::Forwarded => CLIENT | SCHEME | HOST,
        }
    }
}

/// The reason why a field cannot be trusted: proxies do not describe their clients in a field of this name.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct FieldError;

impl fmt::Display for FieldError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let names: Vec<_> = FIELDS.iter().map(|(known, _)| known.name()).collect();
        write!(f, "write one of {}", names.join(", "))
    }
}

impl std::error::Error for FieldError {}

impl Trust {
    /// Believes these proxies, but none of their fields yet.
    pub fn new(proxies: Networks) -> Trust {
        Trust { proxies, fields: Vec::new(), watched: 0 }
    }

    /// Believes a field of this name, in any case of letters, in requests without those of its synonyms that were added
    /// before it.
    ///
    /// # Errors
    ///
    /// [`FieldError`].
    pub fn add_field(&mut self, name: &str) -> Result<(), FieldError> {
        let field = find(Trust::read_field(name)?)?;
        if !self.fields.contains(&field) {
            self.fields.push(field);
            let synonyms = FIELDS.iter().filter(|(_, form)| form.topics() & field.1.topics() != 0);
            self.watched |= synonyms.fold(0, |names, (known, _)| names | known.bit());
        }
        Ok(())
    }

    /// Returns the field of this name, in any case of letters, if it can be trusted.
    ///
    /// # Errors
    ///
    /// [`FieldError`].
    pub fn read_field(name: &str) -> Result<Known, FieldError> {
        find(Known::find(name.as_bytes())).map(|(known, _)| known)
    }

    /// Whether a client with this address is a proxy that is trusted; `None` is a client of a unix socket.
    pub fn has(&self, address: Option<IpAddr>) -> bool {
        self.proxies.has(address)
    }

    /// Returns the facts about the client that `request` tells, if it came from `peer`; `None` is the client of a unix
    /// socket.
    ///
    /// Costs one comparison of bits if the request has no field that is watched.
    pub fn told<'r>(&self, peer: Option<IpAddr>, request: Request<'r>) -> Told<'r> {
        let mut told = Told::default();
        if !request.has_any(self.watched) {
            return told;
        }
        told.stripped = self.watched;
        if self.proxies.has(peer) {
            let mut open = u8::MAX;
            for &(known, form) in self.fields.iter().filter(|(known, _)| request.has(*known)) {
                // The first field that is there is believed, even if its value is useless. The next field may be the
                // client's own, if the proxy sets the first and does not know the next.
                self.hear(known, form, open, request, &mut told);
                open &= !form.topics();
            }
        }
        told
    }

    /// Takes the facts about topics that are `open` from a field, and notes how much of the field the
    /// application sees.
    fn hear<'r>(&self, known: Known, form: Form, open: u8, request: Request<'r>, told: &mut Told<'r>) {
        let fields = request.fields().iter().rev().filter(move |field| field.known == known);
        let lines = fields.map(move |field| request.value(field));
        let won = form.topics() & open;
        if won == 0 {
            return;
        }
        let kept = match form {
            Form::Chain => self.hear_chain(lines, told),
            Form::Forwarded => self.hear_forwarded(lines, won, told),
            _ => hear_one(lines, form, told),
        };
        // If another field was believed for one of the topics, this field would contradict that one.
        if won != form.topics() || kept == Kept::None {
            return;
        }
        told.stripped &= !known.bit();
        if let Kept::Part(value) = kept {
            told.rewritten.push((known, value));
        }
    }

    /// Finds the client: the first address from the right that does not belong to a trusted proxy.
    ///
    /// An element that is no address ends the walk, and the client is then the last valid address, which belongs to a
    /// proxy. Nobody has vouched for the elements further to the left. If the walk had no result, the nearest
    /// proxy would count as the client; the proxy that the walk has reached last is closer to the client.
    fn hear_chain<'r>(&self, lines: impl Iterator<Item = &'r [u8]> + Clone, told: &mut Told<'r>) -> Kept<'r> {
        walk(lines, last_comma, |element| match NodeAddress::read(element) {
            Some(address) => self.step(address, told),
            None => Step::Drop,
        })
    }

    fn step(&self, address: NodeAddress, told: &mut Told<'_>) -> Step {
        set_client(told, address);
        if self.proxies.has(Some(address.ip)) { Step::On } else { Step::Stop }
    }

    /// Walks like [`Trust::hear_chain`], over elements that state more: each was written by the proxy that the element
    /// to its right names.
    ///
    /// The leftmost scheme and host apply: they belong to the client's own request, not to a request of a proxy. An
    /// element without an address was written by a proxy, too, but nobody knows who has written the next one.
    fn hear_forwarded<'r>(
        &self,
        lines: impl Iterator<Item = &'r [u8]> + Clone,
        won: u8,
        told: &mut Told<'r>,
    ) -> Kept<'r> {
        let mut is_sound = true;
        let kept = walk(lines, forwarded::last_comma, |element| {
            let Some(element) = Element::read(element) else { return Step::Drop };
            let sender = element.sender;
            is_sound &= hear_element(element, won, told);
            match sender {
                Some(Node::Address(address)) if won & CLIENT != 0 => self.step(address, told),
                Some(Node::Address(address)) if self.proxies.has(Some(address.ip)) => Step::On,
                _ => Step::Stop,
            }
        });
        if is_sound { kept } else { Kept::None }
    }
}

fn find(known: Known) -> Result<(Known, Form), FieldError> {
    FIELDS.into_iter().find(|field| field.0 == known).ok_or(FieldError)
}

fn set_client(told: &mut Told<'_>, address: NodeAddress) {
    told.client = Some(address.ip);
    told.client_port = address.port;
}

/// Takes scheme and host from an element, and returns whether both are well-formed; a malformed one is ignored.
fn hear_element<'r>(element: Element<'r>, won: u8, told: &mut Told<'r>) -> bool {
    let https = element.proto.as_ref().map(|proto| is_https(proto));
    let is_sound = https != Some(None) && element.host.as_ref().is_none_or(|host| is_host(host));
    if won & SCHEME != 0 {
        told.https = https.flatten().or(told.https);
    }
    if let Some(host) = element.host.filter(|host| won & HOST != 0 && is_host(host)) {
        told.host = Some(host);
    }
    is_sound
}

/// Takes a value that is one word. Of several words the last one applies, which the nearest proxy has added.
fn hear_one<'r>(lines: impl Iterator<Item = &'r [u8]> + Clone, form: Form, told: &mut Told<'r>) -> Kept<'r> {
    // A path may hold commas.
    let comma: LastComma = if form == Form::ScriptName { no_comma } else { last_comma };
    walk(lines, comma, |value| if hear_value(value, form, told) { Step::Stop } else { Step::Drop })
}

/// Takes `value` if it is well-formed, and returns whether it is.
fn hear_value<'r>(value: &'r [u8], form: Form, told: &mut Told<'r>) -> bool {
    match form {
        Form::Address => NodeAddress::read(value).map(|address| set_client(told, address)).is_some(),
        Form::Scheme => is_set(&mut told.https, is_https(value)),
        Form::Switch => is_set(&mut told.https, is_on(value)),
        Form::Host => is_set(&mut told.host, is_host(value).then_some(value.into())),
        Form::ServerName => is_set(&mut told.server_name, is_server_name(value).then_some(value)),
        Form::Port => is_set(&mut told.port, port(value)),
        Form::ScriptName => is_set(&mut told.script_name, script_name(value)),
        Form::Chain | Form::Forwarded => false,
    }
}

fn is_set<T>(place: &mut Option<T>, value: Option<T>) -> bool {
    *place = value;
    place.is_some()
}

#[cfg(test)]
mod tests;
