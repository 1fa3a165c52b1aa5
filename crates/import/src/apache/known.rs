//! Directives that are not carried over: what each of them is to Adyton.

use super::express;
use super::lex::Line;
use super::reasons::{ALWAYS_SO, FAMILIES, REASONS};
use crate::model::Draft;

/// What is said of a directive that nothing was made of.
pub(super) fn tell(line: &Line, draft: &mut Draft) {
    let name = line.name.as_str();
    if name == express::HANDLER || READ_ELSEWHERE.contains(&name) || ALWAYS_SO.contains(&name) {
        return;
    }
    let named = REASONS.iter().find(|(names, _)| names.contains(&name)).map(|(_, why)| why);
    let of_family = || FAMILIES.iter().find(|(prefix, _)| name.starts_with(prefix)).map(|(_, why)| why);
    match named.or_else(of_family) {
        Some(why) => draft.lose(&line.place, &line.text, why),
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
        // They say how, and not whether, somebody is kept out.
        "authzsendforbiddenonfailure" | "authzprovideralias" => return None,
        "accessfilename" => {
            return (!line.args.iter().any(|name| name == ".htaccess"))
                .then_some("files that folders have for themselves are read if they are called .htaccess");
        }
        name if name.starts_with("python") => {
            return PYTHON
                .contains(&name)
                .then_some("mod_python is not there, and this handler may keep somebody out");
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

/// Handlers of `mod_python` that are asked before something else answers.
const PYTHON: [&str; 10] = [
    "pythonaccesshandler",
    "pythonauthenhandler",
    "pythonauthzhandler",
    "pythonfixuphandler",
    "pythonhandlermodule",
    "pythonheaderparserhandler",
    "pythoninithandler",
    "pythonpostreadrequesthandler",
    "pythontranshandler",
    "pythontypehandler",
];

/// By how a name begins: each is a loss that opens.
const RESTRICTIONS: [(&str, &str); 7] = [
    ("authmerging", "the sections of a path take each other's place, as without this"),
    ("authz", "this can be said of addresses and users alone"),
    ("sslrequire", "TLS is the work of a proxy in front, which has to refuse plain HTTP"),
    ("sslverifyclient", "no certificates of clients are asked for; TLS is the work of a proxy in front"),
    ("allowmethods", "methods are said of a route: methods = [\"GET\"]"),
    ("sec", "requests are not searched for attacks"),
    ("session", "sessions are the application's"),
];

/// These are read where they count.
const READ_ELSEWHERE: [&str; 69] = [
    "addhandler",
    "addtype",
    "alias",
    "aliasmatch",
    "allow",
    "allowoverride",
    "authbasicprovider",
    "authbasicusedigestalgorithm",
    "authdigestprovider",
    "authgroupfile",
    "authname",
    "authtype",
    "authuserfile",
    "customlog",
    "deny",
    "documentroot",
    "errorlog",
    "gracefulshutdowntimeout",
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
    "maxclients",
    "maxkeepaliverequests",
    "maxrequestworkers",
    "order",
    "proxypass",
    "proxypassmatch",
    "redirect",
    "redirectmatch",
    "redirectpermanent",
    "redirecttemp",
    "remoteipheader",
    "remoteipinternalproxy",
    "remoteipinternalproxylist",
    "remoteipproxyprotocol",
    "remoteiptrustedproxy",
    "remoteiptrustedproxylist",
    "require",
    "requireall",
    "requireany",
    "requirenone",
    "satisfy",
    "scriptalias",
    "scriptaliasmatch",
    "serveralias",
    "servername",
    "sslengine",
    "timeout",
    "user",
    "wsgiaccessscript",
    "wsgiauthgroupscript",
    "wsgiauthuserscript",
    "wsgicallableobject",
    "wsgidaemonprocess",
    "wsgierroroverride",
    "wsgiprocessgroup",
    "wsgipythonpath",
    "wsgiscriptalias",
    "wsgiscriptaliasmatch",
    "wsgitrustedproxies",
    "wsgitrustedproxyheaders",
];
