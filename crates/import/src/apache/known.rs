//! Directives that are not carried over: what each of them is to Adyton.

use super::lex::Line;
use crate::model::Draft;

/// What is said of a directive that nothing was made of.
pub(super) fn tell(line: &Line, draft: &mut Draft) {
    let name = line.name.as_str();
    if READ_ELSEWHERE.contains(&name) || ALWAYS_SO.contains(&name) {
        return;
    }
    match REASONS.iter().find(|(prefix, _)| name.starts_with(prefix)) {
        Some((_, why)) => draft.lose(&line.place, &line.text, why),
        None => {
            draft.lose(&line.place, &line.text, "this is not known here; see whether it restricts anything");
        }
    }
}

/// Whether a directive keeps somebody out in a way that has no counterpart; what to say.
pub(super) fn restricts(line: &Line) -> Option<&'static str> {
    let name = line.name.as_str();
    match name {
        "rewriterule" => return rewrites(line),
        "rewritecond" => {
            return (!is_of_host(line))
                .then_some("conditions on variables are not there, and this one may keep somebody out");
        }
        "authmerging" | "secruleengine" | "sslverifyclient"
            if line.says(0, "off") || line.says(0, "none") =>
        {
            return None;
        }
        _ => {}
    }
    if line.is_section && matches!(name, "limit" | "if" | "elseif" | "else") {
        return Some("sections with conditions are not there, and this one may keep somebody out");
    }
    RESTRICTIONS.iter().find(|(prefix, _)| name.starts_with(prefix)).map(|(_, why)| *why)
}

/// A rule that forbids.
fn rewrites(line: &Line) -> Option<&'static str> {
    let flags = line.arg(2).trim_matches(['[', ']']).to_ascii_uppercase();
    let forbids = flags
        .split(',')
        .any(|flag| matches!(flag, "F" | "FORBIDDEN" | "G" | "GONE") || flag.starts_with("R=4"));
    forbids.then_some("paths are not rewritten, and this rule keeps somebody out")
}

/// Whether a condition is on the host or on https, which only leads elsewhere.
fn is_of_host(line: &Line) -> bool {
    let subject = line.arg(0).to_ascii_uppercase();
    [
        "%{HTTP_HOST}",
        "%{SERVER_NAME}",
        "%{HTTPS}",
        "%{SERVER_PORT}",
        "%{REQUEST_SCHEME}",
        "%{REQUEST_FILENAME}",
    ]
    .contains(&subject.as_str())
}

/// By how a name begins: each is a loss that opens.
const RESTRICTIONS: [(&str, &str); 11] = [
    ("authmerging", "the sections of a path take each other's place, as without this"),
    ("authz", "this can be said of addresses alone"),
    ("sslrequire", "TLS is the work of a proxy in front, which has to refuse plain HTTP"),
    ("sslverifyclient", "no certificates of clients are asked for; TLS is the work of a proxy in front"),
    (
        "remoteipheader",
        "the address of a client is that of the proxy in front, so allow and deny would see that one",
    ),
    ("remoteipproxyprotocol", "the PROXY protocol is not understood: addresses would be those of the proxy"),
    ("allowmethods", "methods are said of a route"),
    ("sec", "requests are not searched for attacks"),
    ("wsgiaccessscript", "who may come is said of addresses alone"),
    ("wsgiauth", "passwords are not carried over yet; write auth = \"basic:FILE\" there"),
    ("session", "sessions are the application's"),
];

/// These are read where they count.
const READ_ELSEWHERE: [&str; 45] = [
    "alias",
    "allow",
    "allowoverride",
    "authbasicprovider",
    "authdigestprovider",
    "authgroupfile",
    "authname",
    "authtype",
    "authuserfile",
    "addhandler",
    "addtype",
    "customlog",
    "deny",
    "documentroot",
    "errorlog",
    "group",
    "keepalive",
    "keepalivetimeout",
    "limitrequestbody",
    "limitrequestfields",
    "limitrequestfieldsize",
    "limitrequestline",
    "listen",
    "listenbacklog",
    "logformat",
    "loglevel",
    "maxkeepaliverequests",
    "maxrequestworkers",
    "order",
    "redirect",
    "redirectmatch",
    "redirectpermanent",
    "redirecttemp",
    "require",
    "satisfy",
    "scriptalias",
    "serveralias",
    "servername",
    "sslengine",
    "timeout",
    "user",
    "wsgicallableobject",
    "wsgidaemonprocess",
    "wsgiprocessgroup",
    "wsgiscriptalias",
];

/// It is so without being said, or it is about Apache's own insides.
const ALWAYS_SO: [&str; 34] = [
    "acceptpathinfo",
    "accessfilename",
    "addcharset",
    "adddefaultcharset",
    "addencoding",
    "addlanguage",
    "contentdigest",
    "defaultruntimedir",
    "defaulttype",
    "directorycheckhandler",
    "directoryslash",
    "enablemmap",
    "enablesendfile",
    "expiresactive",
    "fileetag",
    "graceful",
    "hostnamelookups",
    "languagepriority",
    "mimemagicfile",
    "mutex",
    "namevirtualhost",
    "pidfile",
    "require_module",
    "rewriteengine",
    "serveradmin",
    "serversignature",
    "servertokens",
    "startservers",
    "traceenable",
    "typesconfig",
    "usecanonicalname",
    "wsgiapplicationgroup",
    "wsgipassauthorization",
    "wsgirestrictstdout",
];

/// By how a name begins.
const REASONS: [(&str, &str); 27] = [
    ("rewrite", "paths are not rewritten; Redirect and RedirectMatch of simple forms are carried over"),
    ("errordocument", "pages for statuses are not there yet, but static-404 for missing files of a folder"),
    ("expiresbytype", "cache-control of a route is the same for all its types"),
    ("directoryindex", "index.html is what is looked for in a folder, and nothing else"),
    ("index", "lists of folders have one form"),
    ("addicon", "lists of folders have one form"),
    ("defaulticon", "lists of folders have one form"),
    (
        "addoutputfilter",
        "answers are not compressed on the way; put .br, .zst and .gz files beside those that are served",
    ),
    (
        "setoutputfilter",
        "answers are not compressed on the way; put .br, .zst and .gz files beside those that are served",
    ),
    (
        "deflate",
        "answers are not compressed on the way; put .br, .zst and .gz files beside those that are served",
    ),
    ("requestheader", "fields of requests reach the application as they are"),
    ("setenv", "variables of requests are not there; env is for the application's process"),
    ("passenv", "variables of requests are not there; env is for the application's process"),
    ("browsermatch", "browsers are all treated alike"),
    ("ssl", "TLS is the work of a proxy in front"),
    ("protocols", "HTTP/2 is the work of a proxy in front"),
    ("h2", "HTTP/2 is the work of a proxy in front"),
    ("proxy", "gateways are not there yet"),
    ("balancer", "gateways are not there yet"),
    ("python", "mod_python is not there yet"),
    ("forcetype", "types come from the names of files"),
    ("include", "the condition around it is not known here"),
    ("max", "processes and threads are said otherwise: processes, threads, connections-max"),
    ("min", "processes and threads are said otherwise: processes, threads, connections-max"),
    ("threads", "processes and threads are said otherwise: processes, threads, connections-max"),
    ("wsgi", "this option of mod_wsgi has no counterpart"),
    ("serverpath", "sites are told apart by their names"),
];
