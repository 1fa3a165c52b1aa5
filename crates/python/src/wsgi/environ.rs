//! The environ of a request (PEP 3333, "environ Variables"): a copy of a template, and what the request changes.

use std::borrow::Cow;
use std::collections::HashMap;
use std::net::{IpAddr, SocketAddr};
use std::sync::{Mutex, MutexGuard, PoisonError};

use adyton_cli::Settings;
use adyton_http::{Field, Known, Method, Request, Version};
use adyton_server::{Asker, Call, MountPoint};
use pyo3::prelude::*;
use pyo3::types::{PyDict, PyString};
use pyo3::{ffi, intern};

use crate::values::path::decoded_path;
use crate::values::text::latin1;

/// Limit of remembered field names beside the known ones: enough for any real client.
const NAMES_MAX: usize = 256;

/// Client addresses remembered: behind proxies there are few addresses; of the many on the open internet, few come
/// again soon.
const ADDRESSES_MAX: usize = 64;

/// Client ports remembered: a busy process has some hundred connections, not thousands.
const PORTS: usize = 1024;

/// Clients whose environs have a template of their own: clients that send one request after the other over a
/// connection.
const CLIENTS: usize = 256;

/// Room in each environ beside the template's entries, so that the fields of a browser fit without a reallocation.
const FIELDS_USUAL: usize = 20;

/// Longest value that is kept: to compare a longer value costs as much as to make it anew.
const VALUE_BYTES_MAX: usize = 256;

/// The environ's entries that differ between listeners.
pub(crate) struct Listener {
    pub(crate) name: String,
    pub(crate) port: String,
}

/// Makes environs.
pub(crate) struct Environs {
    /// A template for each listener.
    templates: Vec<Py<PyDict>>,
    keys: Keys,
    /// The key of the request's id, if a field carries it.
    id: Option<Py<PyString>>,
    merge_slashes: bool,
    seen: Mutex<Seen>,
}

/// The keys that requests set, interned.
struct Keys {
    method: Py<PyString>,
    path: Py<PyString>,
    query: Py<PyString>,
    uri: Py<PyString>,
    protocol: Py<PyString>,
    address: Py<PyString>,
    port: Py<PyString>,
    /// `HTTP_ACCEPT` and the like, by `Known`; `None` for a field that an application must not see.
    fields: [Option<Py<PyString>>; Known::COUNT],
    methods: [(Method, Py<PyString>); 7],
    http10: Py<PyString>,
}

/// A client's port, as a number and as text.
type Port = (u16, Py<PyString>);

/// A client at a listener, and its template from its second request on.
struct Client {
    listener: usize,
    peer: SocketAddr,
    template: Option<Py<PyDict>>,
}

/// Values that requests repeat: the same objects serve all requests.
struct Seen {
    /// Keys of other fields, by the field's name as it was sent.
    names: HashMap<Box<[u8]>, Py<PyString>>,
    /// The last value of each known field.
    values: [Option<Py<PyString>>; Known::COUNT],
    addresses: HashMap<IpAddr, Py<PyString>>,
    last_address: Option<(IpAddr, Py<PyString>)>,
    /// Client ports of connections in use, by their last bits.
    ports: Box<[Option<Port>; PORTS]>,
    /// Clients by the last bits of their ports.
    clients: Box<[Option<Client>; CLIENTS]>,
}

/// The key under which an application finds a field, or `None` if it must not see the field.
///
/// `Proxy` would become `HTTP_PROXY`, which HTTP clients inside the application obey ("httpoxy"). The credentials for a
/// proxy are not meant for the application.
fn key_of(name: &str) -> Option<String> {
    match name {
        "" | "Proxy" | "Proxy-Authorization" => None,
        "Content-Type" | "Content-Length" => Some(name.to_ascii_uppercase().replace('-', "_")),
        _ => Some(format!("HTTP_{}", name.to_ascii_uppercase().replace('-', "_"))),
    }
}

impl Keys {
    fn new(py: Python<'_>) -> Self {
        let text = |text: &str| PyString::intern(py, text).unbind();
        let mut fields = [const { None }; Known::COUNT];
        for known in Known::all() {
            fields[known as usize] = key_of(known.name()).map(|key| text(&key));
        }
        let methods = [
            (Method::Get, "GET"),
            (Method::Post, "POST"),
            (Method::Head, "HEAD"),
            (Method::Put, "PUT"),
            (Method::Delete, "DELETE"),
            (Method::Options, "OPTIONS"),
            (Method::Patch, "PATCH"),
        ];
        Self {
            method: text("REQUEST_METHOD"),
            path: text("PATH_INFO"),
            query: text("QUERY_STRING"),
            uri: text("REQUEST_URI"),
            protocol: text("SERVER_PROTOCOL"),
            address: text("REMOTE_ADDR"),
            port: text("REMOTE_PORT"),
            fields,
            methods: methods.map(|(method, name)| (method, text(name))),
            http10: text("HTTP/1.0"),
        }
    }
}

impl Environs {
    /// `shared` holds the entries that are the same for all requests of the process.
    pub(crate) fn new(
        py: Python<'_>,
        shared: &Bound<'_, PyDict>,
        listeners: &[Listener],
        settings: &Settings,
    ) -> PyResult<Self> {
        let mut templates = Vec::new();
        for listener in listeners {
            let template = shared.copy()?;
            template.set_item(intern!(py, "SERVER_NAME"), &listener.name)?;
            template.set_item(intern!(py, "SERVER_PORT"), &listener.port)?;
            // Entries that nearly every request sets are there already, so that setting them moves nothing.
            template.set_item(intern!(py, "REQUEST_METHOD"), "GET")?;
            for key in
                ["SCRIPT_NAME", "PATH_INFO", "QUERY_STRING", "REQUEST_URI", "REMOTE_ADDR", "REMOTE_PORT"]
            {
                template.set_item(PyString::intern(py, key), "")?;
            }
            template.set_item(intern!(py, "SERVER_PROTOCOL"), "HTTP/1.1")?;
            make_room(&template)?;
            templates.push(template.unbind());
        }
        let seen = Seen {
            names: HashMap::new(),
            values: [const { None }; Known::COUNT],
            addresses: HashMap::new(),
            last_address: None,
            ports: Box::new([const { None }; PORTS]),
            clients: Box::new([const { None }; CLIENTS]),
        };
        let id = settings
            .logging
            .request_id_header
            .as_deref()
            .and_then(key_of)
            .map(|key| PyString::intern(py, &key).unbind());
        let (keys, merge_slashes) = (Keys::new(py), settings.messages.merge_slashes);
        Ok(Self { templates, keys, id, merge_slashes, seen: Mutex::new(seen) })
    }

    /// The environ of one request; `input` is set when there is a body.
    ///
    /// `mount` is the path at which the application is mounted, like [`Call::mount`].
    pub(crate) fn make<'py>(
        &self,
        py: Python<'py>,
        call: &Call<'_>,
        mount: MountPoint<'_>,
    ) -> PyResult<Bound<'py, PyDict>> {
        let request = call.request;
        let keys = &self.keys;
        let template = self.templates[call.listener].bind(py);
        let environ = match call.peer {
            Some(peer) => self.lock().begin(template, keys, call.listener, peer)?,
            None => template.copy()?,
        };
        self.set_method(&environ, request)?;
        let target = request.target();
        let path = match &request.path()[mount.raw_bytes..] {
            [] if mount.raw_bytes > 0 => Cow::Borrowed(&b""[..]),
            path => decoded_path(path, self.merge_slashes),
        };
        let uri = latin1(py, target)?;
        put(&environ, &keys.uri, &uri)?;
        put(&environ, &keys.path, &if *path == *target { uri } else { latin1(py, &path)? })?;
        if !mount.path.is_empty() {
            environ.set_item(intern!(py, "SCRIPT_NAME"), latin1(py, mount.path)?)?;
        }
        if !request.query().is_empty() {
            put(&environ, &keys.query, &latin1(py, request.query())?)?;
        }
        if request.version() == Version::Http10 {
            put(&environ, &keys.protocol, keys.http10.bind(py))?;
            // The request target may name a host even if there is no Host field.
            if let (false, Some(host), Some(key)) =
                (request.has(Known::Host), request.host(), &keys.fields[Known::Host as usize])
            {
                put(&environ, key, &latin1(py, host)?)?;
            }
        }
        let mut seen = self.lock();
        let mut met = [false; Known::COUNT];
        for field in request.fields() {
            seen.set_field(&environ, keys, *field, request.bytes(), &mut met)?;
        }
        if let Some(bytes) = call.unchunked_bytes() {
            self.set_length(&environ, bytes)?;
        }
        if let Some(asker) = call.reply.asker() {
            set_asker(&environ, asker, mount.path)?;
        }
        if let Some(key) = &self.id {
            put(&environ, key, &PyString::new(py, &call.reply.request_id().to_string()))?;
        }
        Ok(environ)
    }

    fn lock(&self) -> MutexGuard<'_, Seen> {
        self.seen.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Sets the length of a complete body that came in chunks.
    fn set_length(&self, environ: &Bound<'_, PyDict>, bytes: u64) -> PyResult<()> {
        if let Some(key) = &self.keys.fields[Known::TransferEncoding as usize] {
            environ.del_item(key)?;
        }
        let Some(key) = &self.keys.fields[Known::ContentLength as usize] else { return Ok(()) };
        put(environ, key, &latin1(environ.py(), itoa::Buffer::new().format(bytes).as_bytes())?)
    }

    fn set_method(&self, environ: &Bound<'_, PyDict>, request: Request<'_>) -> PyResult<()> {
        let method = request.method();
        if method == Method::Get {
            return Ok(());
        }
        let py = environ.py();
        match self.keys.methods.iter().find(|(known, _)| *known == method) {
            Some((_, name)) => put(environ, &self.keys.method, name.bind(py)),
            None => put(environ, &self.keys.method, &latin1(py, request.method_name())?),
        }
    }
}

impl Seen {
    /// A copy of the template with the client's address and port.
    fn begin<'py>(
        &mut self,
        template: &Bound<'py, PyDict>,
        keys: &Keys,
        listener: usize,
        peer: SocketAddr,
    ) -> PyResult<Bound<'py, PyDict>> {
        let place = usize::from(peer.port()) % CLIENTS;
        let client = self.clients[place].as_ref().filter(|it| it.peer == peer && it.listener == listener);
        if let Some(Client { template: Some(own), .. }) = client {
            return own.bind(template.py()).copy();
        }
        let returns = client.is_some();
        let environ = template.copy()?;
        self.set_peer(&environ, keys, peer)?;
        let template = if returns { Some(environ.copy()?.unbind()) } else { None };
        self.clients[place] = Some(Client { listener, peer, template });
        Ok(environ)
    }

    fn set_peer(&mut self, environ: &Bound<'_, PyDict>, keys: &Keys, peer: SocketAddr) -> PyResult<()> {
        let py = environ.py();
        // An IPv4 client on an IPv6 listener is still an IPv4 client.
        let address = peer.ip().to_canonical();
        match &self.last_address {
            Some((last, text)) if *last == address => put(environ, &keys.address, text.bind(py))?,
            _ => {
                let text = self.address(py, address);
                put(environ, &keys.address, text.bind(py))?;
                self.last_address = Some((address, text));
            }
        }
        let slot = &mut self.ports[usize::from(peer.port()) % PORTS];
        if let Some((port, text)) = slot
            && *port == peer.port()
        {
            return put(environ, &keys.port, text.bind(py));
        }
        let text = latin1(py, itoa::Buffer::new().format(peer.port()).as_bytes())?;
        put(environ, &keys.port, &text)?;
        *slot = Some((peer.port(), text.unbind()));
        Ok(())
    }

    fn address(&mut self, py: Python<'_>, address: IpAddr) -> Py<PyString> {
        if let Some(text) = self.addresses.get(&address) {
            return text.clone_ref(py);
        }
        let text = PyString::new(py, &address.to_string()).unbind();
        if self.addresses.len() < ADDRESSES_MAX {
            self.addresses.insert(address, text.clone_ref(py));
        }
        text
    }

    fn set_field(
        &mut self,
        environ: &Bound<'_, PyDict>,
        keys: &Keys,
        field: Field,
        bytes: &[u8],
        met: &mut [bool; Known::COUNT],
    ) -> PyResult<()> {
        let py = environ.py();
        let value = field.value.of(bytes);
        // `X_Forwarded_For` must not pass for `X-Forwarded-For`.
        if !field.plain {
            return Ok(());
        }
        if field.known == Known::Other {
            let Some(key) = self.key_of_other(py, field.name.of(bytes)) else { return Ok(()) };
            return match environ.get_item(&key)? {
                Some(former) => join(environ, &key, &former, value, b", "),
                None => environ.set_item(&key, latin1(py, value)?),
            };
        }
        let index = field.known as usize;
        let Some(key) = &keys.fields[index] else { return Ok(()) };
        if std::mem::replace(&mut met[index], true) {
            let Some(former) = environ.get_item(key)? else { return Ok(()) };
            // RFC 6265 section 5.4: cookies are joined as one Cookie field would hold them.
            let between: &[u8] = if field.known == Known::Cookie { b"; " } else { b", " };
            return join(environ, key.bind(py), &former, value, between);
        }
        if let Some(former) = &self.values[index]
            && holds(former.bind(py), value)
        {
            return put(environ, key, former.bind(py));
        }
        let text = latin1(py, value)?;
        put(environ, key, &text)?;
        if value.len() <= VALUE_BYTES_MAX {
            self.values[index] = Some(text.unbind());
        }
        Ok(())
    }

    /// The key of a field that is none of the known ones.
    fn key_of_other<'py>(&mut self, py: Python<'py>, name: &[u8]) -> Option<Bound<'py, PyString>> {
        if let Some(key) = self.names.get(name) {
            return Some(key.bind(py).clone());
        }
        let key = PyString::new(py, &key_of(std::str::from_utf8(name).ok()?)?);
        if self.names.len() < NAMES_MAX {
            self.names.insert(name.into(), key.clone().unbind());
        }
        Some(key)
    }
}

/// Sets who has sent the request (RFC 3875 section 4.1), and hides entries that the application must not see. `mount`
/// is the application's path.
fn set_asker(environ: &Bound<'_, PyDict>, asker: &Asker, mount: &[u8]) -> PyResult<()> {
    let py = environ.py();
    let hide = |key: &str| if environ.contains(key)? { environ.del_item(key) } else { Ok(()) };
    for key in asker.hidden().filter_map(|known| key_of(known.name())) {
        hide(&key)?;
    }
    for (known, value) in &asker.rewritten {
        if let Some(key) = key_of(known.name()) {
            environ.set_item(key, latin1(py, value)?)?;
        }
    }
    if let Some(user) = &asker.user {
        environ.set_item(intern!(py, "REMOTE_USER"), latin1(py, user.name.as_bytes())?)?;
        environ.set_item(intern!(py, "AUTH_TYPE"), user.scheme)?;
        // The password is for the server only.
        hide("HTTP_AUTHORIZATION")?;
    }
    if asker.client.is_some_and(|client| client.port() == 0) {
        hide("REMOTE_PORT")?;
    }
    if let Some(is_https) = asker.is_https {
        environ.set_item(intern!(py, "wsgi.url_scheme"), if is_https { "https" } else { "http" })?;
    }
    if asker.is_https == Some(true) {
        environ.set_item(intern!(py, "HTTPS"), "on")?;
    }
    if let Some(port) = asker.server_port {
        environ.set_item(intern!(py, "SERVER_PORT"), port.to_string())?;
    }
    if let Some(script_name) = &asker.script_name {
        // `decoded_path` turns an empty path into the root.
        let front = if script_name.is_empty() { Cow::default() } else { decoded_path(script_name, false) };
        let mounted = [&front, mount].concat();
        environ.set_item(intern!(py, "SCRIPT_NAME"), latin1(py, &mounted)?)?;
    }
    for (key, value) in [("HTTP_HOST", &asker.host), ("SERVER_NAME", &asker.server_name)] {
        if let Some(value) = value {
            environ.set_item(key, latin1(py, value)?)?;
        }
    }
    Ok(())
}

/// Makes room in a dict, and in each copy of it, for `FIELDS_USUAL` more entries: the dict grows with dummies, which
/// are removed again from its end, where they leave no gap.
fn make_room(dict: &Bound<'_, PyDict>) -> PyResult<()> {
    for number in 0..FIELDS_USUAL {
        dict.set_item(format!("adyton.room.{number}"), dict.py().None())?;
    }
    for _ in 0..FIELDS_USUAL {
        dict.call_method0(intern!(dict.py(), "popitem"))?;
    }
    Ok(())
}

/// Whether an ASCII `str` has exactly these bytes.
fn holds(text: &Bound<'_, PyString>, bytes: &[u8]) -> bool {
    let object = text.as_ptr();
    // SAFETY: `object` is a live `str`; a compact ASCII one has its bytes where `DATA` says.
    unsafe {
        ffi::PyUnicode_IS_COMPACT_ASCII(object) != 0
            && usize::try_from(ffi::PyUnicode_GET_LENGTH(object)) == Ok(bytes.len())
            && std::slice::from_raw_parts(ffi::PyUnicode_1BYTE_DATA(object), bytes.len()) == bytes
    }
}

fn put(environ: &Bound<'_, PyDict>, key: &Py<PyString>, value: &Bound<'_, PyString>) -> PyResult<()> {
    // SAFETY: attached (the dict's token); all three are live objects, and the dict takes its own references.
    let status = unsafe { ffi::PyDict_SetItem(environ.as_ptr(), key.as_ptr(), value.as_ptr()) };
    if status == 0 { Ok(()) } else { Err(PyErr::fetch(environ.py())) }
}

fn join(
    environ: &Bound<'_, PyDict>,
    key: &Bound<'_, PyString>,
    former: &Bound<'_, PyAny>,
    value: &[u8],
    between: &[u8],
) -> PyResult<()> {
    let former = former.cast::<PyString>()?;
    let joined = [crate::values::text::latin1_bytes(former, "a field value")?, between, value].concat();
    environ.set_item(key, latin1(environ.py(), &joined)?)
}
