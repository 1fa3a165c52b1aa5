//! What a server serves, compiled once and swapped as a whole: host → site → route → action.

use std::fmt;
use std::sync::Arc;

use adyton_files::{ErrorPage, Folder};
use adyton_http::Request;
use adyton_route::{HostError, HostPattern, Hosts, PathPattern, Routes};

use crate::app::App;
use crate::limits::SiteLimits;
use crate::terms::{SharedLog, Terms};

/// What answers the requests that take a route. What comes next (redirects, gateways, pages of scripts) is one more of
/// these, and an arm in `Loop::route`.
pub enum Action {
    /// A folder, by its number among those of [`crate::Parts`].
    ///
    /// A file that one lacks which falls through is a question for the next route that is none of a folder.
    Files(usize),
    /// An application.
    App(Arc<dyn App>),
    /// An answer that is always the same.
    Page(ErrorPage),
}

/// What is served under some host names.
pub struct Site {
    hosts: Vec<HostPattern>,
    pub(crate) terms: Arc<Terms>,
    pub(crate) routes: Routes<Action>,
    /// Whether its one route is that of an application, for all paths: then there is nothing to look for.
    pub(crate) is_one_app: bool,
}

impl Site {
    /// A site that is one application.
    pub fn of_app(app: Arc<dyn App>, limits: SiteLimits) -> Site {
        let everything = (PathPattern::Prefix(Box::default()), Action::App(app));
        Site::new(Vec::new(), Routes::new(vec![everything]), limits, None)
    }

    /// A site with these names, of which the first one of a plan needs none; with these routes, limits for its clients, and
    /// a log for its answers.
    pub fn new(
        hosts: Vec<HostPattern>,
        routes: Routes<Action>,
        limits: SiteLimits,
        log: Option<SharedLog>,
    ) -> Site {
        let is_everything = |pattern: &PathPattern| *pattern == PathPattern::Prefix(Box::default());
        let is_one_app = routes.iter().count() == 1
            && routes.iter().all(|(path, action)| is_everything(path) && matches!(action, Action::App(_)));
        Site { hosts, terms: Arc::new(Terms { limits, log }), routes, is_one_app }
    }

    /// The application of one of its routes.
    pub(crate) fn app(&self, route: usize) -> Option<&Arc<dyn App>> {
        if let Some(Action::App(app)) = self.routes.action(route) { Some(app) } else { None }
    }

    /// Whether nothing but a folder, or the server itself, can answer a request for this path.
    pub(crate) fn needs_no_app(&self, path: &[u8], folders: &[Folder]) -> bool {
        let mut has_missed = false;
        for (_, _, action) in self.routes.of(path) {
            match action {
                // As in `Loop::route`.
                Action::Files(_) if has_missed => {}
                Action::Files(folder) if folders[*folder].falls_through() => has_missed = true,
                Action::Files(_) | Action::Page(_) => return true,
                Action::App(_) => return false,
            }
        }
        true
    }
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

    /// The number of the site that a request is for.
    #[inline]
    pub(crate) fn number_of(&self, request: Request<'_>) -> usize {
        if self.sites.len() == 1 { 0 } else { self.hosts.find(request.host()) }
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
        let mut actions = self.sites.iter().flat_map(|site| site.routes.iter());
        actions.any(|(_, action)| matches!(action, Action::App(_)))
    }

    /// Whether all of its folders are among `count`.
    pub(crate) fn check_folders(&self, count: usize) -> Result<(), PlanError> {
        let folders = self.sites.iter().flat_map(|site| site.routes.iter());
        let numbers = folders.filter_map(|(_, action)| match action {
            Action::Files(folder) => Some(*folder),
            _ => None,
        });
        match numbers.max().filter(|&most| most >= count) {
            Some(number) => Err(PlanError::NoFolder(number, count)),
            None => Ok(()),
        }
    }
}
