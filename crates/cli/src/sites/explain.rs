//! Explains which route answers a request, and why: `adyton route site.toml METHOD URL`.

use std::fmt::Write as _;
use std::net::IpAddr;

use adyton_http::Request;
use adyton_http::bytes::is_token;
use adyton_http1::{Head, Limits, Parsed};
use adyton_route::{
    AheadRule, Come, Coming, Door, HostPattern, Hosts, Other, PathPattern, coming, index_name, names_above,
    other, script_names, spelled, without_port,
};

use super::table::conditions;
use crate::command::failure::Failure;
use crate::command::target::Target;
use crate::settings::bind::Bind;
use crate::settings::typed::{INDEX, Site, SiteAction, SiteRoute, Sites};
use crate::sites::folders::on_the_way::told;
use crate::sites::reading::path::written;

/// The host of a URL that is a path alone: no site has this name.
const ANY_HOST: &str = "-";

const FOLDERS_SPEAK: &str = "       with the settings of folders on the way, which may keep clients out\n";

/// A user who lets folders have settings may believe that these apply everywhere.
const FOLDERS_UNHEARD: &str = "       without the settings of folders on the way, which apply only to files: \
                               see files and try\n";

/// A request that is explained, or the path of a file that answers it.
#[derive(Clone, Copy)]
struct Asking<'s> {
    site: &'s Site,
    request: Request<'s>,
    client: Option<IpAddr>,
    /// Number of files that led here, one after the other.
    depth: usize,
}

/// A route that answers a path.
struct Answering<'s> {
    /// The place of the route among those of its site.
    number: usize,
    route: &'s SiteRoute,
    path: &'s [u8],
    /// The bytes of the path that are the route's own.
    own_bytes: usize,
}

/// Limit of files that are explained one after the other.
const OTHERS_MAX: usize = 3;

/// A request that a user asks about.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Question {
    /// The method.
    pub method: String,
    /// The URL, or a path alone, which is for the first site.
    pub url: String,
    /// The header fields, as `Name: value`.
    pub fields: Vec<String>,
    /// The client's address; `None`: a client of a unix socket.
    pub client: Option<IpAddr>,
}

impl Question {
    /// Checks that a client could send this request.
    ///
    /// # Errors
    ///
    /// A sentence that says why no client could.
    pub(crate) fn check(&self) -> Result<(), String> {
        let Question { method, url, fields, .. } = self;
        let is_url = |text: &str| text.starts_with('/') || text.contains("://");
        if !is_token(method.as_bytes()) || is_url(method) {
            let hint = if is_url(method) { "; it stands in front of the URL" } else { "" };
            return Err(format!("{method:?} is no method: write one as GET or PURGE{hint}"));
        }
        let upper = method.to_ascii_uppercase();
        if *method != upper && METHODS.contains(&upper.as_str()) {
            return Err(format!("{method:?} is no method: they are in capitals; write {upper}"));
        }
        if url.bytes().any(|byte| byte <= b' ' || byte == 0x7F) {
            return Err(format!("{url:?} is no URL: blanks and control characters are written as %20"));
        }
        if url.contains('#') {
            return Err(format!(
                "{url:?} has a part behind #, which clients keep for themselves; leave it out"
            ));
        }
        match url.split_once("://") {
            Some(("http" | "https", rest)) => {
                let host = rest.split(['/', '?']).next().unwrap_or_default();
                if host.is_empty() || host.contains('@') {
                    return Err(format!(
                        "{url:?} is no URL: behind :// stands the name of a host, as in {EXAMPLE}"
                    ));
                }
            }
            Some((scheme, _)) => return Err(format!("{url:?} is no URL of http or https, but of {scheme}")),
            None if url.starts_with('/') || (url == "*" && method == "OPTIONS") => {}
            None => {
                return Err(format!(
                    "{url:?} is no URL: write {EXAMPLE}, or a path that begins with a slash, which is for the first site"
                ));
            }
        }
        let wrong = fields.iter().find(|field| {
            let name = field.split_once(':').map(|(name, _)| name);
            !name.is_some_and(|name| is_token(name.as_bytes()))
        });
        match wrong {
            Some(field) => Err(format!("-H {field:?}: write a field as 'X-Beta: 1'")),
            None => Ok(()),
        }
    }
}

const EXAMPLE: &str = "http://shop.example/path";

/// Methods that people may write in small letters.
const METHODS: [&str; 9] = ["GET", "HEAD", "POST", "PUT", "PATCH", "DELETE", "OPTIONS", "TRACE", "CONNECT"];

impl Sites {
    /// Explains what happens to a request, line by line.
    ///
    /// # Errors
    ///
    /// The server would not take such a request.
    pub fn explain(&self, question: &Question) -> Result<String, Failure> {
        self.explain_at(question, None)
    }

    /// Explains a request like [`explain`](Sites::explain), with another path if a rule has changed it.
    fn explain_at(&self, question: &Question, rewritten: Option<&str>) -> Result<String, Failure> {
        let Question { method, url, fields, client } = question;
        let (host, target) = match url.split_once("://") {
            Some((_, rest)) => rest.find(['/', '?']).map_or((rest, ""), |at| rest.split_at(at)),
            None => (ANY_HOST, url.as_str()),
        };
        let target = rewritten.unwrap_or(target);
        let slash = if target.starts_with('/') || target == "*" { "" } else { "/" };
        let mut bytes = format!("{method} {slash}{target} HTTP/1.1\r\nHost: {host}\r\n");
        for field in fields {
            bytes.extend([field, "\r\n"]);
        }
        bytes.push_str("\r\n");
        let mut head = Head::new();
        match head.parse(bytes.as_bytes(), &Limits::default()) {
            Ok(Parsed::Complete) => {}
            Ok(Parsed::Partial) => return Err(Failure::usage("this is no request".to_owned())),
            Err(refusal) => {
                let message = format!(
                    "the server answers {}: {}",
                    refusal.status,
                    refusal.reason.trim_end_matches('.')
                );
                return Err(Failure::usage(message));
            }
        }
        let request = head.of(bytes.as_bytes());
        let (number, found) = self.site_of(request, host, url.starts_with("https://"));
        let site = &self.sites[number];
        let why = if found {
            format!("has the name {}", String::from_utf8_lossy(without_port(host.as_bytes())))
        } else if host == ANY_HOST {
            "the first one".to_owned()
        } else {
            "no site has this name, so the first one answers".to_owned()
        };
        let mut text = format!("site   {} (line {}): {why}\n", self.names(number), site.line);
        if let Some(group) = site.bound {
            let _ = writeln!(text, "       at {}", self.own_addresses(group));
        }
        let Ok(path) = spelled(request.path()) else {
            text.push_str("answer 400: the path has a . or .. as a segment\n");
            return Ok(text);
        };
        if *path != *request.path() {
            let _ = writeln!(text, "path   {}", String::from_utf8_lossy(&path));
        }
        match site.ahead.rule(&path, request.query(), rewritten.is_none()) {
            Some(AheadRule::Denied(pattern)) => text.push_str(&denied_by(pattern)),
            Some(AheadRule::Rewritten(target)) => {
                let target = String::from_utf8_lossy(&target);
                let _ = writeln!(text, "path   {target}, by a rule of the site");
                let rest = self.explain_at(question, Some(&target))?;
                let told = 1 + usize::from(site.bound.is_some());
                text.extend(rest.split_inclusive('\n').skip(told));
            }
            None => {
                self.explain_routes(&Asking { site, request, client: *client, depth: 0 }, &path, &mut text);
            }
        }
        Ok(text)
    }

    /// Returns the number of the site that a request is for, and whether the site has the name. The port of the URL
    /// tells to which address the client has connected: the first address with that port that has a site of this name.
    /// If no address has that port, all addresses are searched.
    fn site_of(&self, request: Request<'_>, host: &str, is_https: bool) -> (usize, bool) {
        let port = host.rsplit_once(':').and_then(|(_, port)| port.parse().ok());
        let port = port.unwrap_or(if is_https { 443 } else { 80 });
        let has_port = |bound: Option<usize>| {
            let bind = bound.map_or(&self.sites[0].settings.listening.bind, |group| &self.groups[group].bind);
            bind.iter().any(|bind| matches!(bind, Bind::Tcp { port: own, .. } if *own == port))
        };
        let mut places: Vec<Option<usize>> =
            std::iter::once(None).chain((0..self.groups.len()).map(Some)).collect();
        places.retain(|bound| !self.beside(*bound).is_empty());
        if places.iter().any(|bound| has_port(*bound)) {
            places.retain(|bound| has_port(*bound));
        }
        let named = places.iter().find_map(|bound| {
            let beside = self.beside(*bound);
            let names: Vec<Vec<HostPattern>> =
                beside.iter().map(|number| self.sites[*number].hosts.clone()).collect();
            Hosts::new(&names).ok()?.matching(request.host()).map(|at| beside[at])
        });
        let first = || places.first().and_then(|bound| self.beside(*bound).first().copied());
        (named.or_else(first).unwrap_or(0), named.is_some())
    }

    /// Explains which of a site's routes are passed over, and which one answers.
    fn explain_routes(&self, asking: &Asking<'_>, path: &[u8], text: &mut String) {
        let (site, request, client) = (asking.site, asking.request, asking.client);
        let (mut is_refused, mut are_heard, mut has_missed) = (false, false, false);
        for (number, pattern, tried) in site.table().of(path) {
            let route = tried.route;
            let place = place_of(pattern, route);
            let coming = coming(tried, request, client, has_missed);
            is_refused |= coming == Coming::OtherMethod;
            match coming {
                Coming::Here => {}
                Coming::FolderMissed => {
                    let _ = writeln!(text, "passed {place}: another folder was searched");
                    continue;
                }
                Coming::OtherMethod | Coming::Unmet => {
                    let wants = conditions(&route.when).join(", ");
                    let _ = writeln!(text, "passed {place}: it is for {wants}");
                    continue;
                }
            }
            if !is_open(route, client, &place, text) {
                return;
            }
            let falls =
                matches!(route.action, SiteAction::Files(_)) && route.settings.files.static_fall_through;
            let _ = writeln!(text, "answer {} {place}", self.action(&route.action));
            match self.hears_folders(route) {
                Some(true) => {
                    text.push_str(FOLDERS_SPEAK);
                    text.extend(told(route, path.get(pattern.prefix_bytes()..).unwrap_or_default()));
                    are_heard = true;
                }
                Some(false) if !are_heard => text.push_str(FOLDERS_UNHEARD),
                _ => {}
            }
            let own_bytes = pattern.prefix_bytes();
            self.explain_others(asking, &Answering { number, route, path, own_bytes }, text);
            if !falls {
                return;
            }
            has_missed = true;
            text.push_str("       and if there is no such file:\n");
        }
        text.push_str(if is_refused {
            "answer 405: no route of this path is for this method\n"
        } else {
            "answer 404: no route is for this path\n"
        });
    }

    /// Explains the rules around the paths of files that a route may answer with in the place of this path, if they
    /// differ.
    fn explain_others(&self, asking: &Asking<'_>, answering: &Answering<'_>, text: &mut String) {
        if asking.depth == OTHERS_MAX {
            return;
        }
        for name in self.other_names(answering) {
            let told = self.explain_other(asking, &name, answering);
            if told.is_empty() {
                continue;
            }
            let shown = String::from_utf8_lossy(&name);
            let _ = if answering.path.starts_with(&name) {
                writeln!(text, "       and if that is the script {shown}, the rules for its path apply:")
            } else {
                writeln!(text, "       and if that is {shown}, the rules for its path apply:")
            };
            for line in told.lines() {
                let _ = writeln!(text, "         {line}");
            }
        }
    }

    /// Returns the rules around the path of a file that this route would answer with in the place of another path;
    /// empty, if there are none.
    fn explain_other(&self, asking: &Asking<'_>, name: &[u8], answering: &Answering<'_>) -> String {
        let Asking { site, request, client, depth } = *asking;
        if let Some(pattern) = site.ahead.denied.find(name) {
            return denied_by(pattern);
        }
        let mut told = String::new();
        let table = site.table();
        let come = Come { path: answering.path, number: answering.number };
        let found = other(&table, come, name, request, client, |pattern, redirect| {
            let place = place_of(pattern, redirect.route);
            if is_open(redirect.route, client, &place, &mut told) { Ok(()) } else { Err(()) }
        });
        match found {
            Err(()) => {}
            Ok(Other::Own) if told.is_empty() => {}
            Ok(Other::Own) => told.push_str("the file\n"),
            Ok(Other::Route(_) | Other::Nowhere) => {
                self.explain_routes(&Asking { depth: depth + 1, ..*asking }, name, &mut told);
            }
        }
        told
    }

    /// Returns the paths of files with which a route may answer in the place of this path.
    fn other_names(&self, answering: &Answering<'_>) -> Vec<Vec<u8>> {
        let Answering { route, path, own_bytes, .. } = *answering;
        let mut names = match &route.action {
            SiteAction::Files(_) => index_name(path, INDEX.as_bytes()).into_iter().collect(),
            SiteAction::Cgi(_) => names_above(path, own_bytes).map(<[u8]>::to_vec).collect(),
            SiteAction::App(number) => match &self.apps[*number].target {
                Target::Scripts(scripts) => script_names(path, own_bytes, scripts.index.as_bytes()),
                _ => Vec::new(),
            },
            _ => Vec::new(),
        };
        let fallback = route.settings.files.static_fallback.as_ref();
        if let Some(page) = fallback.filter(|_| matches!(route.action, SiteAction::Files(_))) {
            let page = page.trim_start_matches("./").trim_start_matches('/');
            names.push([&path[..own_bytes], b"/", page.as_bytes()].concat());
        }
        names
    }

    /// Whether settings of folders apply to a route that has folders and lets them have settings.
    fn hears_folders(&self, route: &SiteRoute) -> Option<bool> {
        if !route.settings.lets_folders_speak() {
            return None;
        }
        match &route.action {
            SiteAction::Files(_) => Some(true),
            SiteAction::Cgi(_) => Some(false),
            SiteAction::App(number) if matches!(self.apps[*number].target, Target::Scripts(_)) => Some(false),
            _ => None,
        }
    }
}

/// Returns the pattern of a route that a request takes, and the line of the file where the route begins.
fn place_of(pattern: &PathPattern, route: &SiteRoute) -> String {
    format!("{} (line {})", written(pattern), route.line)
}

/// Returns the answer to a request for a path that this pattern refuses to everybody.
fn denied_by(pattern: &PathPattern) -> String {
    format!("answer 403: refused to everybody, by deny-paths = {}\n", written(pattern))
}

/// Whether the action of a route answers the request, perhaps after a name and a password; otherwise writes the answer.
fn is_open(route: &SiteRoute, client: Option<IpAddr>, place: &str, text: &mut String) -> bool {
    if route.is_internal {
        let _ = writeln!(text, "answer 404 {place}: only applications send requests there");
        return false;
    }
    match route.settings.admission().door(route.settings.access.auth.is_some(), client) {
        Door::Open => {}
        Door::Password => {
            let _ = writeln!(text, "answer 401 {place}: without a name and a password; with them:");
        }
        Door::Closed => {
            let _ = writeln!(text, "answer 403 {place}: not for this client");
            return false;
        }
    }
    if let Some(target) = &route.settings.access.allow_python {
        let _ = writeln!(text, "answer 403 {place}: unless {target} lets it in; then:");
    }
    true
}
