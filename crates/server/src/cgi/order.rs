//! The order to start a script: its environment (the variables of its request and those of its route), and its folder.

use std::net::SocketAddr;
use std::os::unix::ffi::OsStrExt as _;

use adyton_cgi::{Facts, Variables};
use adyton_http::{Known, Request};
use adyton_spawn::Order;

use crate::cgi::action::WantedScript;
use crate::client::asker::Asker;

/// The two ends of a request's connection, and the length of its body.
pub(crate) struct Ends {
    /// The addresses of the client's end of the connection, and of the server's end.
    pub(crate) client: Option<SocketAddr>,
    pub(crate) local: Option<SocketAddr>,
    /// The length of the body; `None` if there is none.
    pub(crate) body_bytes: Option<u64>,
}

/// Returns the order that starts a script for a request.
pub(crate) fn order(
    wanted: &WantedScript,
    request: Request<'_>,
    asker: Option<&Asker>,
    ends: &Ends,
) -> Order {
    let user = asker.and_then(|asker| asker.user.as_ref());
    let secret = if user.is_some() { Known::Authorization.bit() } else { 0 };
    let facts = Facts {
        request,
        script_name: wanted.name(),
        path_info: wanted.rest(),
        body_bytes: ends.body_bytes,
        client: ends.client,
        local: ends.local,
        host: asker.and_then(|asker| asker.host.as_deref().or(asker.server_name.as_deref())),
        port: asker.and_then(|asker| asker.server_port),
        is_https: asker.and_then(|asker| asker.is_https).unwrap_or(false),
        user: user.map(|user| (user.scheme, &*user.name)),
        hidden: secret | asker.map_or(0, |asker| asker.stripped),
        rewritten: asker.map_or(&[], |asker| &asker.rewritten),
    };
    let mut variables = Variables::of(&facts);
    variables.set("SCRIPT_FILENAME", &wanted.program.path);
    if wanted.program.interpreter.is_some() {
        // `php-cgi` runs nothing without this variable: it says that the server has chosen the file, and not the
        // client.
        variables.set("REDIRECT_STATUS", b"200");
    }
    if let Some(root) = &wanted.cgi.root {
        let root = root.as_os_str().as_bytes();
        variables.set("DOCUMENT_ROOT", root);
        if !wanted.rest().is_empty() {
            variables.set("PATH_TRANSLATED", &[root, wanted.rest()].concat());
        }
    }
    for (name, value) in &wanted.cgi.environment {
        variables.set(name, value);
    }
    let path = wanted.program.path.clone();
    let folder = path.iter().rposition(|&byte| byte == b'/').map_or(0, |slash| slash);
    // A script starts in its own folder (RFC 3875 section 7.2).
    let folder = if folder == 0 { b"/".to_vec() } else { path[..folder].to_vec() };
    // The settings name the interpreter, which often is a link.
    let may_be_link = wanted.program.interpreter.is_some() || wanted.cgi.programs.follows_links();
    let interpreter = wanted.program.interpreter.as_ref().map(|path| path.as_os_str().as_bytes().to_vec());
    // A query without = does not become arguments, though section 4.4 of RFC 3875 allows it: arguments such as `-x`
    // have changed what interpreters do (CVE-2012-1823).
    let arguments = interpreter.iter().cloned().chain([path.clone()]).collect();
    Order {
        path: interpreter.unwrap_or(path),
        may_be_link,
        arguments,
        environment: variables.block().to_vec(),
        folder,
        memory_bytes_max: wanted.cgi.memory_bytes_max,
        user_processes_max: wanted.cgi.user_processes_max,
    }
}
