//! What a server serves, compiled once and swapped as a whole: host → site → route → action.

use std::borrow::Cow;
use std::fmt;
use std::net::IpAddr;
use std::sync::Arc;

use adyton_files::{ErrorPage, Folder};
use adyton_http::{Known, Request};
use adyton_route::{
    DotSegment, HeadEdits, HostError, HostPattern, Hosts, Location, Networks, PathPattern, Routes, Taken,
    When, raw_bytes, spelled,
};

use crate::app::App;
use crate::guard::Guard;
use crate::limits::SiteLimits;
use crate::terms::{SharedLog, StatusPage, Terms};

/// What answers the requests that take a route. What comes next (gateways, pages of scripts) is one more of these, and
/// an arm in `Loop::route`.
pub enum Action {
    /// A folder, by its number among those of [`crate::Parts`].
    ///
    /// A file that one lacks which falls through is a question for the next route that is none of a folder.
    Files(usize),
    /// An application.
    App(Arc<dyn App>),
    /// An error page of the server's.
    Page(ErrorPage),
    /// An answer that is always the same.
    Fixed(Fixed),
    /// Another place, with the status of the redirect.
    Redirect(u16, Location),
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

/// Requests of a path: which of them, for which clients, what answers them, and what is changed in the answers.
pub struct Route {
    /// What a request has to be beside its path, if anything; others are for the next route.
    pub when: Option<Box<When>>,
    /// Which clients it is for, if not for all; others are answered 403.
    pub admission: Option<Box<Admission>>,
    /// Who they have to be, if anyone; others are answered 401.
    pub guard: Option<Arc<Guard>>,
    /// What is changed in the heads of its answers.
    pub edits: Option<Arc<HeadEdits>>,
    /// Whether its application stands beneath its path: it sees what is behind that as its own.
    pub is_mounted: bool,
    /// What answers.
    pub action: Action,
}

impl From<Action> for Route {
    /// A route for all requests of its path.
    fn from(action: Action) -> Route {
        Route { when: None, admission: None, guard: None, edits: None, is_mounted: false, action }
    }
}

impl Route {
    /// Whether a request takes it; if only its method keeps it from that, `methods` gets those with which it would.
    #[inline]
    pub(crate) fn takes<'r>(
        &'r self,
        request: Request<'_>,
        client: Option<IpAddr>,
        methods: &mut Vec<&'r [u8]>,
    ) -> bool {
        let Some(when) = &self.when else { return true };
        let taken = when.takes(request, client);
        if taken == Taken::OtherMethod {
            methods.extend(when.methods.iter().map(|method| &**method));
        }
        taken == Taken::Yes
    }

    /// What a client with this address has to do to use it; `None` is a client of a unix socket.
    #[inline]
    pub(crate) fn door(&self, client: Option<IpAddr>) -> Door<'_> {
        match (&self.admission, &self.guard) {
            (None, None) => Door::Open,
            (None, Some(guard)) => Door::Guarded(guard),
            (Some(admission), guard) => admission.door(guard.as_ref(), client),
        }
    }

    /// Whether it has nothing around its action.
    #[inline]
    pub(crate) fn is_bare(&self) -> bool {
        self.when.is_none() && self.admission.is_none() && self.guard.is_none() && self.edits.is_none()
    }

    /// Whether it is an application's, with nothing around it.
    pub(crate) fn is_app(&self) -> bool {
        self.is_bare() && matches!(self.action, Action::App(_))
    }
}

/// Which clients may use a route.
#[derive(Clone, Debug, Default)]
pub struct Admission {
    /// Those that may; if there are none, all that `deny` does not name.
    pub allow: Networks,
    /// Those that may not, even if `allow` has them.
    pub deny: Networks,
    /// Whether those of `allow` need no password, and others may use it with one.
    pub replaces_password: bool,
}

/// What a client has to do to use a route.
pub(crate) enum Door<'r> {
    /// Nothing.
    Open,
    /// To say who it is.
    Guarded(&'r Arc<Guard>),
    /// It may not.
    Closed,
}

impl Admission {
    fn door<'r>(&self, guard: Option<&'r Arc<Guard>>, client: Option<IpAddr>) -> Door<'r> {
        let is_allowed = self.allow.has(client);
        match guard {
            _ if self.deny.has(client) => Door::Closed,
            Some(guard) if self.replaces_password && !is_allowed => Door::Guarded(guard),
            Some(_) if self.replaces_password => Door::Open,
            _ if !self.allow.is_empty() && !is_allowed => Door::Closed,
            Some(guard) => Door::Guarded(guard),
            None => Door::Open,
        }
    }
}

/// What is served under some host names.
pub struct Site {
    hosts: Vec<HostPattern>,
    pub(crate) terms: Arc<Terms>,
    pub(crate) routes: Routes<Route>,
    /// Whether its one route is that of an application, for all paths: then there is nothing to look for.
    pub(crate) is_one_app: bool,
    /// Whether its routes are found by [`spelled`] paths.
    has_one_spelling: bool,
    /// Whether any of its applications is mounted beneath a path.
    has_mounts: bool,
}

impl Site {
    /// A site that is one application.
    pub fn of_app(app: Arc<dyn App>, limits: SiteLimits) -> Site {
        let everything = (PathPattern::Prefix(Box::default()), Action::App(app).into());
        Site::new(Vec::new(), Routes::new(vec![everything]), limits, None)
    }

    /// A site with these names, of which the first one of a plan needs none; with these routes, limits for its clients, and
    /// a log for its answers.
    pub fn new(
        hosts: Vec<HostPattern>,
        routes: Routes<Route>,
        limits: SiteLimits,
        log: Option<SharedLog>,
    ) -> Site {
        let is_everything = |pattern: &PathPattern| *pattern == PathPattern::Prefix(Box::default());
        let is_one_app = routes.iter().count() == 1
            && routes.iter().all(|(path, route)| is_everything(path) && route.is_app());
        let terms = Arc::new(Terms { limits, log, pages: Vec::new() });
        let has_mounts = routes.iter().any(|(_, route)| route.is_mounted);
        Site { hosts, terms, routes, is_one_app, has_one_spelling: false, has_mounts }
    }

    /// The same, but its routes are found by the decoded path with single slashes, whatever was sent, and a path with dot
    /// segments is refused: so what a route protects stays protected. Without it, paths are compared as they were sent.
    #[must_use]
    pub fn with_one_spelling(mut self) -> Site {
        self.has_one_spelling = true;
        self
    }

    /// The same, with pages of its own.
    #[must_use]
    pub fn with_pages(mut self, pages: Vec<StatusPage>) -> Site {
        let Terms { limits, log, .. } = &*self.terms;
        self.terms = Arc::new(Terms { limits: *limits, log: log.clone(), pages });
        self
    }

    /// The path by which its routes are found.
    #[inline]
    pub(crate) fn spelled<'p>(&self, path: &'p [u8]) -> Result<Cow<'p, [u8]>, DotSegment> {
        if self.has_one_spelling { spelled(path) } else { Ok(Cow::Borrowed(path)) }
    }

    /// How much of a path as it was sent is the part of a route whose own part has so many bytes.
    #[inline]
    pub(crate) fn raw_bytes(&self, path: &[u8], prefix_bytes: usize) -> usize {
        if self.has_one_spelling { raw_bytes(path, prefix_bytes) } else { prefix_bytes }
    }

    /// The application of one of its routes.
    pub(crate) fn app(&self, route: usize) -> Option<&Arc<dyn App>> {
        if let Some(Route { action: Action::App(app), .. }) = self.routes.action(route) {
            Some(app)
        } else {
            None
        }
    }

    /// Where the application of this route stands in a path: the route's own path, and how many bytes of the path as it was
    /// sent are that.
    #[inline]
    pub(crate) fn mount(&self, route: usize, path: &[u8]) -> (&[u8], usize) {
        if self.has_mounts { self.found_mount(route, path) } else { (b"", 0) }
    }

    #[inline(never)]
    fn found_mount(&self, route: usize, path: &[u8]) -> (&[u8], usize) {
        match self.routes.get(route) {
            Some((PathPattern::Prefix(prefix), route)) if route.is_mounted => {
                (prefix, self.raw_bytes(path, prefix.len()))
            }
            _ => (b"", 0),
        }
    }

    /// Whether nothing but a folder, or the server itself, can answer a request, which is known before its body is here.
    pub(crate) fn needs_no_app(
        &self,
        request: Request<'_>,
        client: Option<IpAddr>,
        folders: &[Folder],
    ) -> bool {
        let Ok(path) = self.spelled(request.path()) else { return true };
        let (mut has_missed, mut methods) = (false, Vec::new());
        for (_, _, route) in self.routes.of(&path) {
            if !route.takes(request, client, &mut methods) {
                continue;
            }
            match route.door(client) {
                Door::Open => {}
                Door::Closed => return true,
                // To verify what it says may take longer than to read the body.
                Door::Guarded(_) => return !request.has(Known::Authorization),
            }
            match route.action {
                // As in `Loop::route`.
                Action::Files(_) if has_missed => {}
                Action::Files(folder) if folders[folder].falls_through() => has_missed = true,
                Action::Files(_) | Action::Page(_) | Action::Fixed(_) | Action::Redirect(..) => return true,
                Action::App(_) => return false,
            }
        }
        true
    }
}

/// The host that was asked for last, and its site: clients repeat themselves. An empty host is the first site's.
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

/// Why sites make no plan.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum PlanError {
    /// There is none.
    NoSite,
    /// Two have the same host name.
    Host(HostError),
    /// A route is for a folder that there is not: its number, and how many there are.
    NoFolder(usize, usize),
}

impl fmt::Display for PlanError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            PlanError::NoSite => write!(f, "there is no site; give one"),
            PlanError::Host(error) => write!(f, "{error}"),
            PlanError::NoFolder(number, count) => {
                write!(f, "a route is for the folder number {number}, and there are {count}")
            }
        }
    }
}

impl std::error::Error for PlanError {}

impl Plan {
    /// The plan of these sites. What no host name matches is for the first one.
    ///
    /// # Errors
    ///
    /// There is no site, or two have the same host name.
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

    /// The number of the site that a request is for; `last` is what this plan was asked last.
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

    /// The site of a client that has not said which it wants.
    pub(crate) fn first(&self) -> &Arc<Site> {
        &self.sites[0]
    }

    /// All logs, each once.
    pub(crate) fn logs(&self) -> impl Iterator<Item = &SharedLog> {
        self.logs.iter()
    }

    /// Whether any site has an application.
    pub(crate) fn has_app(&self) -> bool {
        let mut routes = self.sites.iter().flat_map(|site| site.routes.iter());
        routes.any(|(_, route)| matches!(route.action, Action::App(_)))
    }

    /// Whether all of its folders are among `count`.
    pub(crate) fn check_folders(&self, count: usize) -> Result<(), PlanError> {
        let routes = self.sites.iter().flat_map(|site| site.routes.iter());
        let numbers = routes.filter_map(|(_, route)| match route.action {
            Action::Files(folder) => Some(folder),
            _ => None,
        });
        match numbers.max().filter(|&most| most >= count) {
            Some(number) => Err(PlanError::NoFolder(number, count)),
            None => Ok(()),
        }
    }
}
