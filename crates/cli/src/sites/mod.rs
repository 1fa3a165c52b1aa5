//! The file of sites: what `adyton serve site.toml` reads.
//!
//! A file has a table `[server]`, whose keys are the settings of the command line, and sites with routes. A key of a site
//! or a route is a row of `rows.rs`, or a setting that may differ there (`Row::scope`). `document.rs` reads the file and
//! finds all mistakes in it; `complete.rs` makes what is served of it, with a look at the disk.

mod complete;
mod document;
mod explain;
mod mistake;
mod path;
mod rows;
mod schema;
mod table;

use std::path::PathBuf;

use adyton_route::{HeadEdits, HostPattern, Location, Networks, PathPattern, When};

use crate::settings::{Interface, Settings};
use crate::target::Target;

pub(crate) use document::{Document, is_of};
pub use explain::Question;
pub(crate) use rows::{ROUTE_ROWS, SITE_ROWS};
pub(crate) use schema::schema;

/// What a file says that is served.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Sites {
    /// The file, as it was given.
    pub file: PathBuf,
    /// The sites, at least one.
    pub sites: Vec<Site>,
    /// The applications of all routes, each once.
    pub apps: Vec<AppTarget>,
    /// The whole file.
    pub text: String,
    /// Where it is, as an absolute path.
    pub place: PathBuf,
}

/// What some host names stand for.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Site {
    /// Its names; the first site needs none.
    pub hosts: Vec<HostPattern>,
    /// Its routes, in the order of the file.
    pub routes: Vec<SiteRoute>,
    /// The server's settings, but for what the site says otherwise.
    pub settings: Settings,
    /// The line of the file where it begins.
    pub line: usize,
}

/// Which requests of a site are answered by what.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct SiteRoute {
    /// Its paths.
    pub paths: Vec<PathPattern>,
    /// What else a request has to be.
    pub when: When,
    /// Clients that may use it; if there are none, all that may not are in `deny`.
    pub allow: Networks,
    /// Clients that may not.
    pub deny: Networks,
    /// What is changed in the heads of its answers.
    pub edits: HeadEdits,
    /// What answers.
    pub action: SiteAction,
    /// The site's settings, but for what the route says otherwise.
    pub settings: Settings,
    /// The line of the file where it begins.
    pub line: usize,
}

/// What answers the requests of a route.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum SiteAction {
    /// An application, by its number among [`Sites::apps`].
    App(usize),
    /// A folder of files; relative to `chdir`.
    Files(PathBuf),
    /// Another place, with the status of the redirect.
    Redirect(u16, Location),
    /// The server's own page for a status.
    Status(u16),
    /// A text that is always the same.
    Text {
        /// The status.
        status: u16,
        /// The media type.
        content_type: String,
        /// The text.
        body: String,
    },
}

/// An application that routes name, and how it is found.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct AppTarget {
    /// As the file names it.
    pub text: String,
    /// What that is.
    pub target: Target,
    /// How it is called.
    pub interface: Interface,
    /// Whether it makes the application.
    pub factory: bool,
}

/// Whether a target is a file of sites.
pub(crate) fn is_file(target: &str) -> bool {
    std::path::Path::new(target).extension().is_some_and(|end| end == "toml")
}

impl Sites {
    /// The folders that routes serve, each with a path of its route.
    pub(crate) fn folders(&self) -> impl Iterator<Item = (String, &PathBuf)> {
        let routes = self.sites.iter().flat_map(|site| &site.routes);
        routes.filter_map(|route| match &route.action {
            SiteAction::Files(folder) => {
                Some((route.paths.first().map(path::written).unwrap_or_default(), folder))
            }
            _ => None,
        })
    }
}
