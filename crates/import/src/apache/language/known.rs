//! Directives that are not carried over, and the reason for each.

use crate::apache::express;
use crate::apache::language::line::Line;
use crate::apache::language::reasons::{ALWAYS_SO, FAMILIES, REASONS};
use crate::model::Draft;

/// Notes the loss of a directive that has no counterpart.
pub(crate) fn tell(line: &Line, draft: &mut Draft) {
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

/// Names of lines that stand for a loss; no directive has such a name.
pub(super) const LEFT_OUT: &str = "(left out)";
pub(super) const IN_DOUBT: &str = "(in doubt)";
pub(super) const NOT_INCLUDED: &str = "(not included)";
pub(crate) const NOT_READ: &str = "(not read)";
pub(crate) const NOT_ALLOWED: &str = "(not allowed)";
pub(crate) const MISPLACED: &str = "(misplaced)";
pub(crate) const UNKNOWN: &str = "(unknown)";

pub(super) const WHY_LEFT_OUT: &str = "this condition is taken as false, so its section is left out; but the section keeps clients out: check whether the condition is false";

/// Reasons why each of these lines denies everybody.
const LOST: [(&str, &str); 7] = [
    (LEFT_OUT, WHY_LEFT_OUT),
    (
        IN_DOUBT,
        "this condition is taken as true, and its section lets clients in; check whether the condition is true",
    ),
    (NOT_INCLUDED, "this variable is not known here, so the files that this line includes were not read"),
    (NOT_READ, "the folders' own files, such as .htaccess, cannot be searched for"),
    (
        NOT_ALLOWED,
        "AllowOverride does not allow this line there, so Apache refuses every request for that folder",
    ),
    (
        MISPLACED,
        "this directive belongs in the server's own file; Apache refuses every request for a folder whose file contains it",
    ),
    (
        UNKNOWN,
        "this is not known here; Apache refuses every request for a folder whose file has a directive that Apache does not know; the directive may be written inside <IfModule>",
    ),
];

/// Returns the reason, if a directive denies some clients in a way that has no counterpart.
pub(crate) fn restricts(line: &Line) -> Option<&'static str> {
    let name = line.name.as_str();
    match name {
        "rewriterule" => return rewrites(line),
        "rewritecond" => {
            return (!is_of_host(line))
                .then_some("conditions on variables do not exist here, and this one may keep somebody out");
        }
        "authmerging" | "secruleengine" | "sslverifyclient"
            if line.says(0, "off") || line.says(0, "none") =>
        {
            return None;
        }
        // Both say how, and not whether, clients are denied.
        "authzsendforbiddenonfailure" | "authzprovideralias" => return None,
        name if name.starts_with("python") => {
            return PYTHON
                .contains(&name)
                .then_some("handlers of mod_python are not called, and this one may keep clients out; allow-python has a Python function decide");
        }
        name if name.starts_with("perl") => {
            let is_asked = name.ends_with("handler") && !PERL_AFTERWARDS.contains(&name);
            return is_asked.then_some(CODE);
        }
        "use" => return Some("macros are not expanded, and this one may keep somebody out"),
        _ => {}
    }
    if line.is_section && matches!(name, "limit" | "if" | "elseif" | "else") {
        return Some("sections with conditions do not exist here, and this one may keep clients out");
    }
    let lost = LOST.iter().find(|(other, _)| *other == name);
    let of_family = || RESTRICTIONS.iter().find(|(prefix, _)| name.starts_with(prefix));
    if let Some((_, why)) = lost.or_else(of_family) {
        return Some(why);
    }
    // A directive of an unknown module is judged by its name.
    let is_doubted = || DOUBTS.iter().any(|word| name.contains(word));
    (!is_known(name) && is_doubted())
        .then_some("this is not known here, and by its name it may keep somebody out")
}

/// Whether a directive is known by its name.
pub(crate) fn is_known(name: &str) -> bool {
    READ_ELSEWHERE.contains(&name)
        || ALWAYS_SO.contains(&name)
        || REASONS.iter().any(|(names, _)| names.contains(&name))
        || FAMILIES.iter().any(|(prefix, _)| name.starts_with(prefix))
        || matches!(
            name,
            "limitexcept" | "sethandler" | "header" | "options" | "expiresdefault" | "fallbackresource"
        )
}

/// Words in names of directives that deny some clients.
const DOUBTS: [&str; 13] = [
    "access",
    "allow",
    "auth",
    "block",
    "captcha",
    "challenge",
    "deny",
    "forbid",
    "guard",
    "protect",
    "restrict",
    "secur",
    "verify",
];

/// Returns the reason, if a rule forbids, leads to a path that may be denied, or has a handler or another server answer
/// in place of a file.
fn rewrites(line: &Line) -> Option<&'static str> {
    let flags = flags(line);
    let has =
        |words: &[&str]| flags.iter().any(|flag| words.contains(&flag.split('=').next().unwrap_or_default()));
    if has(&["F", "FORBIDDEN", "G", "GONE"])
        || flags.iter().any(|flag| flag.starts_with("R=4") || flag.starts_with("R=5"))
    {
        return Some("this rule keeps somebody out, and RewriteRule is not carried over");
    }
    if has(&["H", "HANDLER", "P", "PROXY"]) {
        return Some(
            "RewriteRule is not carried over, so a file would be sent in place of what this rule answers with",
        );
    }
    if redirects(line) || line.arg(1) == "-" {
        return None;
    }
    Some(REWRITE)
}

/// Whether a rule is a redirect.
pub(super) fn redirects(line: &Line) -> bool {
    let is_one = |flag: &String| matches!(flag.split('=').next(), Some("R" | "REDIRECT"));
    line.arg(1).contains("://") || flags(line).iter().any(is_one)
}

/// Whether a rule is for paths without a file: without the rule such paths are answered 404.
pub(crate) fn is_for_absent(rule: &Line, conditions: &[&Line]) -> bool {
    let is_or = |line: &&Line| line.arg(2).to_ascii_uppercase().contains("OR");
    let is_absent = |line: &&Line| {
        matches!(line.arg(0), "%{REQUEST_FILENAME}" | "%{SCRIPT_FILENAME}" | "%{DOCUMENT_ROOT}%{REQUEST_URI}")
            && line.says(1, "!-f")
    };
    restricts(rule) == Some(REWRITE) && conditions.iter().any(is_absent) && !conditions.iter().any(is_or)
}

const REWRITE: &str = "a rule that leads to another path is not carried over; if it has no conditions, write rewrite = \"^/old/(.*)$ -> /new/{1}\" in the site";

const CODE: &str = "code inside Apache is not run, and this code may keep clients out; allow-python has a Python function decide";

/// Returns the flags of a rule, in capital letters.
fn flags(line: &Line) -> Vec<String> {
    let flags = line.arg(2).trim_matches(['[', ']']).to_ascii_uppercase();
    flags.split(',').map(|flag| flag.trim().to_owned()).collect()
}

/// Handlers of `mod_perl` that do not run before an answer, or that run only because of a `SetHandler`.
const PERL_AFTERWARDS: [&str; 8] = [
    "perlchildexithandler",
    "perlchildinithandler",
    "perlcleanuphandler",
    "perlhandler",
    "perlloghandler",
    "perlopenlogshandler",
    "perlpostconfighandler",
    "perlresponsehandler",
];

/// Whether a condition is on the host or on https: the rule of such a condition only leads requests elsewhere.
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

/// Handlers of `mod_python` that are called before something else answers.
const PYTHON: [&str; 11] = [
    "pythonaccesshandler",
    "pythonauthenhandler",
    "pythonauthzhandler",
    "pythonconnectionhandler",
    "pythonfixuphandler",
    "pythonhandlermodule",
    "pythonheaderparserhandler",
    "pythoninithandler",
    "pythonpostreadrequesthandler",
    "pythontranshandler",
    "pythontypehandler",
];

const OTHER_USER: &str = "here requests are answered as the server's user; write [groups.NAME] with this user, and group = \"NAME\" in the routes";

const VHOSTS: &str = "folders are not chosen by host name here, so another folder would be served";

/// Beginnings of names of directives that deny clients, so that their loss is an error, with the reasons.
const RESTRICTIONS: [(&str, &str); 19] = [
    (
        "authmerging",
        "the access rules of a section replace those of the sections before it, as in Apache without this directive",
    ),
    ("authz", "an access rule can name only addresses and users"),
    ("sslrequire", "TLS is the work of a proxy in front, which has to refuse plain HTTP"),
    ("sslverifyclient", "clients are not asked for certificates; TLS is the work of a proxy in front"),
    ("allowmethods", "methods are a key of a route: methods = [\"GET\"]"),
    ("sec", "requests are not searched for attacks"),
    ("session", "sessions are left to the application"),
    ("virtualdocumentroot", VHOSTS),
    ("virtualscriptalias", VHOSTS),
    ("luahook", CODE),
    ("luaauthz", CODE),
    ("luamaphandler", CODE),
    ("luaquickhandler", CODE),
    (
        "suexecusergroup",
        "here programs run as the server's user; write [groups.NAME] with this user, and group = \"NAME\" in the programs' routes",
    ),
    ("assignuserid", OTHER_USER),
    ("ruidgid", OTHER_USER),
    ("shibrequire", "here users come only from files of htpasswd or htdigest"),
    ("action", "programs are not chosen by the types of files, and the files themselves would be served"),
    ("xbithack", "the server runs no instructions inside pages, so the pages would be served as they are"),
];

/// Directives that other files of this importer read.
const READ_ELSEWHERE: [&str; 70] = [
    "accessfilename",
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
