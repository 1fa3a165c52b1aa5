//! The plan of all that a server serves, compiled once and swapped as a whole: host → site → route → action.

use std::borrow::Cow;
use std::fmt;
use std::net::IpAddr;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

use adyton_cache::Rules as CacheRules;
use adyton_compress::Rules;
use adyton_files::{ErrorPage, Folder, INDEX};
use adyton_http::{Known, Request};
use adyton_route::{
    Admission, Ahead, AheadRule, Coming, DotSegment, HostError, HostPattern, Hosts, Location, PathPattern,
    RouteFacts, Routes, SCRIPT_ENDS, When, coming, names_above, raw_bytes, spelled,
};

use crate::answering::changes::Changes;
use crate::answering::met::{Met, PassedChecks};
use crate::app::{App, MountPoint};
use crate::cgi::Cgi;
use crate::client::passage::Elsewhere;
use crate::folders::Folders;
use crate::guard::Guard;
use crate::site::door::Door;
use crate::site::limiter::Limiter;
use crate::site::limits::SiteLimits;
use crate::site::terms::{SharedLog, StatusPage, Terms};

/// The part that answers the requests that take a route. A further kind, such as gateways, would be one more variant,
/// and an arm in `find_route` in `course`.
pub enum Action {
    /// A folder, by its number among the folders of [`crate::Parts`]. Folders inside it are answered with files of the
    /// name [`INDEX`].
    ///
    /// If the folder lacks the file and falls through, the next route that is not a folder answers.
    Files(usize),
    /// A folder whose folders say themselves how they are served. Set by [`Route::with_folders`].
    Folders(Arc<Folders>),
    /// An application.
    App(Arc<dyn App>),
    /// Scripts.
    Cgi(Arc<Cgi>),
    /// An error page of the server's.
    Page(ErrorPage),
    /// An answer that is always the same.
    Fixed(Fixed),
    /// Another place, with the status of the redirect.
    Redirect(u16, Location),
    /// Another process, which judges by itself whom it answers.
    Elsewhere {
        /// The passage to it, by its number among the passages of [`crate::Parts`].
        passage: usize,
        /// Whether a folder answers there: a folder is not asked for a file that another folder lacks.
        is_folder: bool,
    },
}

impl Action {
    /// Whether a folder answers: a folder is not asked for a file that another folder lacks.
    pub(crate) fn is_folder(&self) -> bool {
        matches!(self, Action::Files(_) | Action::Folders(_) | Action::Elsewhere { is_folder: true, .. })
    }
}

impl Action {
    /// Whether an application may answer.
    fn is_app(&self) -> bool {
        match self {
            Action::App(_) => true,
            Action::Folders(folders) => folders.pages().is_some(),
            _ => false,
        }
    }

    /// Whether scripts may answer.
    fn runs_scripts(&self) -> bool {
        match self {
            Action::Cgi(_) => true,
            Action::Folders(folders) => folders.cgi().is_some(),
            _ => false,
        }
    }
}

/// An answer that is always the same.
pub struct Fixed {
    /// Its status, which allows a body.
    pub status: u16,
    /// Its media type.
    pub content_type: Box<str>,
    /// Its body.
    pub body: Box<[u8]>,
}

/// A route for the requests of a path: its conditions, its clients, the part that answers, and the changes to answers.
pub struct Route {
    /// Conditions on a request beside its path, if any; other requests are for the next route.
    pub when: Option<Box<When>>,
    /// The limit on the rate of a client's requests; more requests are answered 429.
    pub limiter: Option<Arc<Limiter>>,
    /// The clients that the route is for, if not all; other clients are answered 403.
    pub admission: Option<Box<Admission>>,
    /// The guard that clients have to pass, if any; other clients are answered 401.
    pub guard: Option<Arc<Guard>>,
    /// The changes to its answers.
    pub changes: Option<Arc<Changes>>,
    /// Properties that few routes have.
    pub apart: Option<Box<Apart>>,
    /// The rules that say which answers of its application are compressed. Set by [`Route::compressing`]: such a route
    /// always has `changes`, perhaps empty ones, so that only routes with changes have to be asked for these rules.
    pub compress: Option<Arc<Rules>>,
    /// The rules by which its answers are kept for other clients, if they are. Set by [`Route::caching`]: such a route
    /// has changes, too.
    pub cache: Option<CacheRules>,
    /// Length of the part of its path at which its application is mounted; the application sees the rest as its own
    /// path.
    pub mount_bytes: usize,
    /// The file beneath its folder that answers for missing files, if one does.
    pub fallback: Option<Box<[u8]>>,
    /// The name of the script that answers for a folder, if its application is a folder of scripts.
    pub scripts_index: Option<Box<[u8]>>,
    /// The part that answers: an application, files, a fixed answer.
    pub action: Action,
}

/// Properties that few routes have: a route without any is asked one question instead of several.
#[derive(Default)]
pub struct Apart {
    /// Whether the route is only for requests that an application has sent on.
    pub(crate) is_internal: bool,
    /// The terms for its clients, in place of its site's terms.
    pub(crate) terms: Option<Arc<Terms>>,
    /// Whether the file that answers one of its paths may have another path, which another rule of the site is about.
    /// Set by [`Site::with_one_spelling`].
    pub(crate) names_others: bool,
}

impl From<Action> for Route {
    /// Makes a route for all requests of its path.
    fn from(action: Action) -> Route {
        Route {
            when: None,
            limiter: None,
            admission: None,
            guard: None,
            changes: None,
            apart: None,
            compress: None,
            cache: None,
            mount_bytes: 0,
            fallback: None,
            scripts_index: None,
            action,
        }
    }
}

impl Route {
    /// Has answers of the application compressed.
    #[must_use]
    pub fn compressing(mut self, rules: Arc<Rules>) -> Route {
        self.changes.get_or_insert_default();
        self.compress = Some(rules);
        self
    }

    /// Has the route answered by a folder whose folders say how they are served.
    #[must_use]
    pub fn with_folders(mut self, folders: Folders) -> Route {
        self.action = Action::Folders(Arc::new(folders.beneath(self.changes.clone())));
        self
    }

    /// Has answers of the application, or of the scripts, kept for other clients.
    #[must_use]
    pub fn caching(mut self, rules: CacheRules) -> Route {
        self.changes.get_or_insert_default();
        self.cache = Some(rules);
        self
    }

    /// Gives the route limits of its own on the time of calls, in place of the limits of its site, whose host names are
    /// `hosts`.
    #[must_use]
    pub fn timed(
        mut self,
        hosts: &[HostPattern],
        limits: SiteLimits,
        log: Option<SharedLog>,
        pages: Vec<StatusPage>,
    ) -> Route {
        let terms = Terms::new(name_of(hosts), limits, log, pages);
        self.apart.get_or_insert_default().terms = Some(Arc::new(terms));
        self
    }

    /// Restricts the route to requests that an application has sent on.
    #[must_use]
    pub fn internal(mut self) -> Route {
        self.apart.get_or_insert_default().is_internal = true;
        self
    }

    /// Whether the route is only for requests that an application has sent on.
    pub(crate) fn is_internal(&self) -> bool {
        self.apart.as_ref().is_some_and(|apart| apart.is_internal)
    }

    /// Returns the guard and the limiter that a request from this address has met when it comes into the route.
    pub(crate) fn met(&self, client: Option<IpAddr>) -> Met {
        // A client that was let in by its address was asked for no credentials.
        let guard = match self.door(client) {
            Door::Guarded(guard) if !guard.asks_of_all() => Some(guard.number),
            _ => None,
        };
        Met { guard, limiter: self.limiter.clone() }
    }

    /// Returns which parts of this route a request has met before.
    pub(crate) fn passed(&self, met: &Met) -> PassedChecks {
        let guard = self.guard.as_ref().map(|guard| guard.number);
        let limiters = (&met.limiter, &self.limiter);
        let is_counted = matches!(limiters, (Some(one), Some(other)) if Arc::ptr_eq(one, other));
        PassedChecks { is_let_in: guard.is_some() && guard == met.guard, is_counted }
    }

    /// Whether the file that answers one of its paths may have another path, which another rule of the site is about.
    pub(crate) fn names_others(&self) -> bool {
        self.apart.as_ref().is_some_and(|apart| apart.names_others)
    }

    /// Returns the methods that the route is for; none: it is for all.
    pub(crate) fn methods(&self) -> impl Iterator<Item = &[u8]> {
        self.when.iter().flat_map(|when| &when.methods).map(|method| &**method)
    }

    /// Returns the condition for a client with this address; `None` is a client of a unix socket.
    #[inline]
    pub(crate) fn door(&self, client: Option<IpAddr>) -> Door<'_> {
        Door::of(self.admission.as_deref(), self.guard.as_ref(), client)
    }

    /// Whether the route has nothing around its action.
    #[expect(clippy::inline_always, reason = "a call would cost more than the work, at each request")]
    #[inline(always)]
    pub(crate) fn is_bare(&self) -> bool {
        self.apart.is_none()
            && self.when.is_none()
            && self.limiter.is_none()
            && self.admission.is_none()
            && self.guard.is_none()
            && self.changes.is_none()
    }

    /// Whether the route is an application's, with nothing around it.
    pub(crate) fn is_app(&self) -> bool {
        self.is_bare() && matches!(self.action, Action::App(_))
    }
}

impl RouteFacts for Route {
    #[inline]
    fn when(&self) -> Option<&When> {
        self.when.as_deref()
    }

    fn is_folder(&self) -> bool {
        self.action.is_folder()
    }

    fn is_redirect(&self) -> bool {
        matches!(self.action, Action::Redirect(..))
    }
}

/// Whether a path of this pattern may begin with the name of a script that is no part of the pattern's prefix: then the
/// script may belong to any route.
fn reaches_others(pattern: &PathPattern) -> bool {
    let is_script = |path: &[u8]| SCRIPT_ENDS.iter().any(|end| path.ends_with(end));
    let has_script = |path: &[u8]| names_above(path, 0).any(is_script);
    match pattern {
        PathPattern::Prefix(_) => false,
        PathPattern::Exact(path) => has_script(path),
        PathPattern::Suffix(_) => true,
    }
}

/// The number of sites that ever existed in this process.
static SITES: AtomicU64 = AtomicU64::new(0);

/// A site: the routes and the terms under some host names.
pub struct Site {
    /// The number of the site among all that ever existed in this process: answers kept for it are not given by other
    /// sites, or by the site's next version.
    pub(crate) number: u64,
    hosts: Vec<HostPattern>,
    pub(crate) terms: Arc<Terms>,
    pub(crate) routes: Routes<Route>,
    /// Whether its only route is an application's, for all paths: then no route has to be looked for.
    pub(crate) is_one_app: bool,
    /// Whether its routes are found by [`spelled`] paths.
    has_one_spelling: bool,
    /// Whether any of its applications is mounted beneath a path.
    has_mounts: bool,
    /// The rules that come before its routes, if there are any.
    pub(crate) ahead: Option<Box<Ahead>>,
}

/// Returns the name of a site in logs: the first of these host names.
fn name_of(hosts: &[HostPattern]) -> Option<Box<str>> {
    hosts.first().map(|host| host.to_string().into())
}

impl Site {
    /// Makes a site that is one application.
    pub fn of_app(app: Arc<dyn App>, limits: SiteLimits) -> Site {
        let everything = (PathPattern::Prefix(Box::default()), Action::App(app).into());
        Site::new(Vec::new(), Routes::new(vec![everything]), limits, None)
    }

    /// Makes a site with these host names, routes, limits for its clients, and log for its answers. The first site of a
    /// plan needs no host names.
    pub fn new(
        hosts: Vec<HostPattern>,
        routes: Routes<Route>,
        limits: SiteLimits,
        log: Option<SharedLog>,
    ) -> Site {
        let is_everything = |pattern: &PathPattern| *pattern == PathPattern::Prefix(Box::default());
        let is_one_app = routes.iter().count() == 1
            && routes.iter().all(|(path, route)| is_everything(path) && route.is_app());
        let terms = Arc::new(Terms::new(name_of(&hosts), limits, log, Vec::new()));
        let has_mounts = routes.iter().any(|(_, route)| route.mount_bytes > 0);
        let number = SITES.fetch_add(1, Ordering::Relaxed);
        Site { number, hosts, terms, routes, is_one_app, has_one_spelling: false, has_mounts, ahead: None }
    }

    /// Has routes found by the decoded path with single slashes, however the path was sent, and refuses paths with dot
    /// segments. So no spelling of a path leads around the route that protects it. Without this, paths are compared as
    /// they were sent.
    #[must_use]
    pub fn with_one_spelling(mut self) -> Site {
        self.has_one_spelling = true;
        self.mark_names();
        self
    }

    /// Denies some paths to everybody, whatever routes and folders say, and changes other paths before routes are
    /// looked for. Routes are then found by the new path in its one spelling.
    #[must_use]
    pub fn with_paths(mut self, ahead: Ahead) -> Site {
        if !ahead.is_empty() {
            self.ahead = Some(Box::new(ahead));
            self.is_one_app = false;
            self = self.with_one_spelling();
        }
        self
    }

    /// Marks the routes whose answering file may have another path, which another rule is about: only these routes have
    /// to ask.
    fn mark_names(&mut self) {
        let all = self.routes.iter().enumerate();
        let marks: Vec<bool> =
            all.map(|(number, (pattern, route))| self.may_name_others(number, pattern, route)).collect();
        for (route, _) in self.routes.actions_mut().zip(marks).filter(|(_, is_marked)| *is_marked) {
            route.apart.get_or_insert_default().names_others = true;
        }
    }

    fn may_name_others(&self, number: usize, pattern: &PathPattern, route: &Route) -> bool {
        let own: &[u8] = if let PathPattern::Prefix(own) = pattern { own } else { b"" };
        let is_beneath = |other: &&PathPattern| match other {
            PathPattern::Exact(path) | PathPattern::Prefix(path) => path.starts_with(own),
            PathPattern::Suffix(_) => true,
        };
        let denied = || self.ahead.iter().flat_map(|ahead| ahead.denied.iter());
        let others = self.routes.iter().enumerate().filter(|(other, _)| *other != number);
        let mut others = others.map(|(_, (other, _))| other).chain(denied()).filter(is_beneath);
        let is_led_away = |fallback: &[u8]| {
            let path = [own, b"/", fallback].concat();
            self.denies(&path) || self.routes.first(&path).is_none_or(|(first, ..)| first != number)
        };
        match (&route.action, &route.scripts_index) {
            // A folder may have rules about the file of a fallback.
            (Action::Folders(_), _) if route.fallback.is_some() => true,
            (Action::App(_), Some(_)) if reaches_others(pattern) => true,
            (Action::Files(_) | Action::Folders(_), _) => {
                route.fallback.as_deref().is_some_and(is_led_away)
                    || others.any(|other| other.knows_file(INDEX.as_bytes()))
            }
            (Action::App(_), Some(index)) => {
                others.any(|other| other.knows_file(index) || other.knows_end(SCRIPT_ENDS))
            }
            _ => false,
        }
    }

    /// Whether a path, in its one spelling, is denied to everybody.
    #[inline]
    pub(crate) fn denies(&self, path: &[u8]) -> bool {
        self.ahead.as_ref().is_some_and(|ahead| ahead.denied.find(path).is_some())
    }

    /// Whether a path has dot segments and must not have any. An application sees most paths as they were sent, so
    /// paths without a dot or an escape are not looked at any closer.
    #[inline]
    pub(crate) fn refuses(&self, path: &[u8]) -> bool {
        self.has_one_spelling && path.iter().any(|byte| matches!(byte, b'.' | b'%')) && spelled(path).is_err()
    }

    /// Returns the rule that keeps a request with this path in its one spelling from the routes, if there is one.
    /// `may_rewrite`: whether no rule has rewritten the request's target before.
    #[inline]
    pub(crate) fn rule_ahead(
        &self,
        path: &[u8],
        request: Request<'_>,
        may_rewrite: bool,
    ) -> Option<AheadRule<'_>> {
        self.ahead.as_ref()?.rule(path, request.query(), may_rewrite)
    }

    /// Gives the site pages of its own.
    #[must_use]
    pub fn with_pages(mut self, pages: Vec<StatusPage>) -> Site {
        let Terms { name, limits, log, .. } = &*self.terms;
        self.terms = Arc::new(Terms::new(name.clone(), *limits, log.clone(), pages));
        self
    }

    /// Returns the path by which the site's routes are found.
    #[inline]
    pub(crate) fn spelled<'p>(&self, path: &'p [u8]) -> Result<Cow<'p, [u8]>, DotSegment> {
        if self.has_one_spelling { spelled(path) } else { Ok(Cow::Borrowed(path)) }
    }

    /// Returns the length in bytes of the route's own part of a path as it was sent; that part has `prefix_bytes` in
    /// the pattern.
    #[expect(clippy::inline_always, reason = "a call would cost more than the work, at each request")]
    #[inline(always)]
    pub(crate) fn raw_bytes(&self, path: &[u8], prefix_bytes: usize) -> usize {
        if self.has_one_spelling { raw_bytes(path, prefix_bytes) } else { prefix_bytes }
    }

    /// Returns the application of one of the routes.
    pub(crate) fn app(&self, route: usize) -> Option<&Arc<dyn App>> {
        match &self.routes.action(route)?.action {
            Action::App(app) => Some(app),
            Action::Folders(folders) => folders.pages().map(|pages| &pages.app),
            _ => None,
        }
    }

    /// Returns where the application of this route is mounted in a path.
    #[inline]
    pub(crate) fn mount(&self, route: usize, path: &[u8]) -> MountPoint<'_> {
        if self.has_mounts { self.found_mount(route, path) } else { MountPoint::default() }
    }

    #[inline(never)]
    fn found_mount(&self, route: usize, path: &[u8]) -> MountPoint<'_> {
        match self.routes.get(route) {
            Some((PathPattern::Prefix(own) | PathPattern::Exact(own), route)) => {
                let mount = own.get(..route.mount_bytes).unwrap_or_default();
                MountPoint { path: mount, raw_bytes: self.raw_bytes(path, mount.len()) }
            }
            _ => MountPoint::default(),
        }
    }

    /// Returns the fate of a request, as far as it is known before the body is here; `has_missed`: a folder was asked
    /// already.
    pub(crate) fn fate(
        &self,
        request: Request<'_>,
        client: Option<IpAddr>,
        folders: &[Folder],
        now_ms: u64,
        mut has_missed: bool,
    ) -> Fate {
        let Ok(path) = self.spelled(request.path()) else { return Fate::Here };
        match self.rule_ahead(&path, request, true) {
            Some(AheadRule::Denied(_)) => return Fate::Here,
            Some(AheadRule::Rewritten(target)) => return self.fate_at(&target, has_missed),
            None => {}
        }
        for (_, pattern, route) in self.routes.of(&path) {
            if coming(route, request, client, has_missed) != Coming::Here {
                continue;
            }
            let rest = || path.get(pattern.prefix_bytes()..).unwrap_or_default();
            match route.door(client) {
                _ if route.is_internal() => return Fate::Here,
                Door::Open => {}
                // Verifying the credentials may take longer than reading the body.
                Door::Guarded(guard) if guard.asks_of_all() || request.has(Known::Authorization) => {
                    return if self.leads_to_script(&path) { Fate::Script } else { Fate::App };
                }
                Door::Closed | Door::Guarded(_) => return Fate::Here,
            }
            match route.action {
                // The fallback of the folder may be a program, too.
                Action::Folders(ref own)
                    if (own.cgi().is_some() && route.fallback.is_some())
                        || own.may_run_at(rest(), &self.terms, now_ms) =>
                {
                    return Fate::Script;
                }
                Action::Folders(ref own) if own.pages().is_some() => return Fate::App,
                // A folder inside may ask who the client is, which may take longer than reading the body.
                Action::Folders(_) if request.has(Known::Authorization) => {
                    return if self.leads_to_script(&path) { Fate::Script } else { Fate::App };
                }
                Action::Files(folder) if folders[folder].falls_through() => has_missed = true,
                Action::Folders(ref own) if folders[own.number].falls_through() => has_missed = true,
                Action::Files(_)
                | Action::Folders(_)
                | Action::Page(_)
                | Action::Fixed(_)
                | Action::Redirect(..) => {
                    return Fate::Here;
                }
                Action::Elsewhere { passage, .. } => {
                    return Fate::Elsewhere(Elsewhere { passage, has_missed });
                }
                Action::Cgi(_) => return Fate::Script,
                Action::App(_) => return Fate::App,
            }
        }
        Fate::Here
    }

    /// Returns the fate of a request whose target was rewritten, as far as the new path alone tells it.
    fn fate_at(&self, target: &[u8], has_missed: bool) -> Fate {
        let path = target.split(|&byte| byte == b'?').next().unwrap_or_default();
        let Ok(path) = self.spelled(path) else { return Fate::App };
        match self.routes.first(&path) {
            Some((_, _, Route { when: None, action: Action::Elsewhere { passage, .. }, .. })) => {
                Fate::Elsewhere(Elsewhere { passage: *passage, has_missed })
            }
            _ if self.leads_to_script(&path) => Fate::Script,
            _ => Fate::App,
        }
    }

    /// Whether a script may answer a path; a script wants all of a body before it begins.
    fn leads_to_script(&self, path: &[u8]) -> bool {
        self.routes.of(path).any(|(_, _, route)| route.action.runs_scripts())
    }
}

/// The fate of a request: who can answer it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Fate {
    /// Only a folder, or the server itself, can answer it.
    Here,
    /// The application may be asked.
    App,
    /// A script may be run, once all of its body is here.
    Script,
    /// Another process answers it.
    Elsewhere(Elsewhere),
}

/// The host that was asked for last, and its site: clients repeat themselves. An empty host stands for the first site.
#[derive(Default)]
pub(crate) struct LastHost {
    host: Vec<u8>,
    site: usize,
}

/// All sites of a server.
pub struct Plan {
    sites: Vec<Arc<Site>>,
    hosts: Hosts,
    /// The logs of all sites, each once.
    logs: Vec<SharedLog>,
}

/// Reason why sites make no plan.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum PlanError {
    /// The plan has no site.
    NoSite,
    /// Two sites have the same host name.
    Host(HostError),
    /// A route is for a folder that does not exist: its number, and how many folders there are.
    NoFolder(usize, usize),
    /// A route is for a passage that does not exist: its number, and how many passages there are.
    NoPassage(usize, usize),
}

impl fmt::Display for PlanError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            PlanError::NoSite => write!(f, "there is no site; give one"),
            PlanError::Host(error) => write!(f, "{error}"),
            PlanError::NoFolder(number, count) => {
                write!(f, "a route is for the folder number {number}, and there are {count}")
            }
            PlanError::NoPassage(number, count) => {
                write!(f, "a route is for the passage number {number}, and there are {count}")
            }
        }
    }
}

impl std::error::Error for PlanError {}

impl Plan {
    /// Makes the plan of these sites. A request whose host no site names goes to the first site.
    ///
    /// # Errors
    ///
    /// No site is given, or two sites have the same host name.
    pub fn new(sites: Vec<Site>) -> Result<Plan, PlanError> {
        if sites.is_empty() {
            return Err(PlanError::NoSite);
        }
        let names: Vec<Vec<HostPattern>> = sites.iter().map(|site| site.hosts.clone()).collect();
        let hosts = Hosts::new(&names).map_err(PlanError::Host)?;
        let mut logs: Vec<SharedLog> = Vec::new();
        for log in sites.iter().filter_map(|site| site.terms.log.as_ref()) {
            if !logs.iter().any(|other| Arc::ptr_eq(other, log)) {
                logs.push(Arc::clone(log));
            }
        }
        Ok(Plan { sites: sites.into_iter().map(Arc::new).collect(), hosts, logs })
    }

    /// The terms of all sites and routes, if there are several sites.
    pub(crate) fn terms_of_several(&self) -> impl Iterator<Item = &Arc<Terms>> {
        let sites = if self.sites.len() > 1 { &*self.sites } else { &[] };
        sites.iter().flat_map(|site| {
            let of_routes = site.routes.iter().filter_map(|(_, route)| route.apart.as_ref()?.terms.as_ref());
            [&site.terms].into_iter().chain(of_routes)
        })
    }

    /// Returns the number of the site that a request is for; `last` is the host that this plan was asked for last.
    #[inline]
    pub(crate) fn number_of(&self, request: Request<'_>, last: &mut LastHost) -> usize {
        if self.sites.len() == 1 {
            return 0;
        }
        let Some(host) = request.host() else { return 0 };
        if *last.host != *host {
            last.host.clear();
            last.host.extend_from_slice(host);
            last.site = self.hosts.find(Some(host));
        }
        last.site
    }

    /// The site with this number.
    #[inline]
    pub(crate) fn site(&self, number: usize) -> &Arc<Site> {
        &self.sites[number]
    }

    /// The number of a site of this plan.
    pub(crate) fn find(&self, site: &Arc<Site>) -> Option<usize> {
        self.sites.iter().position(|other| Arc::ptr_eq(other, site))
    }

    /// Returns the site for a client that has not said which one it wants.
    pub(crate) fn first(&self) -> &Arc<Site> {
        &self.sites[0]
    }

    /// All logs, each once.
    pub(crate) fn logs(&self) -> impl Iterator<Item = &SharedLog> {
        self.logs.iter()
    }

    /// Whether any site has an application, or a program to be asked who clients are.
    pub(crate) fn has_app(&self) -> bool {
        let mut routes = self.sites.iter().flat_map(|site| site.routes.iter());
        let asks = |route: &Route| route.guard.as_ref().is_some_and(|guard| guard.asks());
        routes.any(|(_, route)| route.action.is_app() || asks(route))
    }

    /// Whether any site has scripts.
    pub(crate) fn has_scripts(&self) -> bool {
        let mut routes = self.sites.iter().flat_map(|site| site.routes.iter());
        routes.any(|(_, route)| route.action.runs_scripts())
    }

    /// Checks that the folders of all routes are among `count`.
    pub(crate) fn check_folders(&self, count: usize) -> Result<(), PlanError> {
        let routes = self.sites.iter().flat_map(|site| site.routes.iter());
        let sent = |route: &Route| {
            route.changes.as_ref()?.sends_on.as_ref()?.files.as_ref().map(|files| files.number)
        };
        let numbers = routes.filter_map(|(_, route)| match route.action {
            Action::Files(folder) => Some(folder),
            Action::Folders(ref own) => Some(own.number),
            _ => sent(route),
        });
        match numbers.max().filter(|&most| most >= count) {
            Some(number) => Err(PlanError::NoFolder(number, count)),
            None => Ok(()),
        }
    }

    /// Checks that the passages of all routes are among `count`.
    pub(crate) fn check_passages(&self, count: usize) -> Result<(), PlanError> {
        let routes = self.sites.iter().flat_map(|site| site.routes.iter());
        let numbers = routes.filter_map(|(_, route)| match route.action {
            Action::Elsewhere { passage, .. } => Some(passage),
            _ => None,
        });
        match numbers.max().filter(|&most| most >= count) {
            Some(number) => Err(PlanError::NoPassage(number, count)),
            None => Ok(()),
        }
    }
}
