//! Guards, error pages and folders of a process, opened once: `adyton check` looks for faults in them, and a server
//! serves with them.

use std::path::{Path, PathBuf};
use std::sync::Arc;

use adyton_cli::{Fault, SaidAt, Settings, Site, SiteAction, SiteRoute, Sites};
use adyton_files::programs::Programs;
use adyton_files::{CacheRoom, Folder, Sources};
use adyton_route::PathPattern;
use adyton_server::{Folders, StatusPage};

use super::authorities::Named;
use super::failure::Failure;
use super::folders::{RouteFolder, speaking};
use super::guards::{GuardNumber, Guards};
use super::scripts::{open, sources};
use super::settings::{folders, is_answered, is_entered, page, served_folders};

/// The opened parts of all that a process answers.
pub(super) struct Prepared {
    /// The guards of all routes.
    pub(super) guards: Guards,
    /// The sites of a file, by their numbers, or the one site of a command line. `None`: this process answers nothing
    /// for the site.
    pub(super) sites: Vec<Option<PreparedSite>>,
    /// The folders of files for one loop, by their numbers.
    pub(super) folders: Vec<Folder>,
    /// The memory for the contents of files, which all loops share.
    pub(super) cache_room: Arc<CacheRoom>,
}

/// The opened parts of a site.
pub(super) struct PreparedSite {
    /// The error pages, also those that are run and must not be sent.
    pub(super) pages: Vec<PreparedPage>,
    /// The routes of a file's site, by their numbers. On a command line: a route for each folder, and behind them the
    /// route of the application.
    pub(super) routes: Vec<PreparedRoute>,
}

/// An error page, and the file that it was read from.
pub(super) struct PreparedPage {
    pub(super) file: PathBuf,
    pub(super) page: StatusPage,
}

/// The opened parts of a route.
#[derive(Default)]
pub(super) struct PreparedRoute {
    /// The guard of the route, if it has one.
    pub(super) guard: Option<GuardNumber>,
    pub(super) content: Content,
}

/// The files or scripts with which a route answers, opened.
#[derive(Default)]
pub(super) enum Content {
    /// A folder of files.
    Files(PreparedFolder),
    /// A folder of CGI scripts.
    Scripts(Programs),
    /// The route opens nothing, or another process answers.
    #[default]
    Nothing,
}

/// A folder of files at the paths of a route.
pub(super) struct PreparedFolder {
    /// The number of the folder among [`Prepared::folders`].
    pub(super) number: usize,
    /// For each path of the route, the folders beneath it that say how they are served, if they may.
    pub(super) beneath: Vec<Option<Folders>>,
}

/// Opens guards, error pages and folders of all that a process answers. A part that has faults is left out, so a server
/// serves only if there are no faults.
pub(super) fn prepare(settings: &Settings) -> (Prepared, Vec<Fault>) {
    let mut opening = Opening {
        base: settings.application.chdir.as_deref().unwrap_or(Path::new(".")),
        guards: Guards::default(),
        folders: 0,
        faults: Vec::new(),
    };
    let sites = match &settings.sites {
        Some(sites) => {
            let of = |site| is_entered(sites, site).then(|| opening.site(sites, site));
            sites.sites.iter().map(of).collect()
        }
        None => vec![Some(opening.alone(settings))],
    };
    let Opening { guards, mut faults, .. } = opening;
    let cache_room = CacheRoom::new(settings.files.static_cache_bytes_max);
    let mut folders = Vec::new();
    for folder in served_folders(settings) {
        match folder.open(&cache_room) {
            Ok(opened) => folders.push(opened),
            Err(what) => faults.push(Fault { at: folder.at, what }),
        }
    }
    (Prepared { guards, sites, folders, cache_room }, faults)
}

impl Prepared {
    /// Prepares a process that is going to serve.
    ///
    /// # Errors
    ///
    /// All faults.
    pub(super) fn of(settings: &Settings) -> Result<Prepared, Failure> {
        let (prepared, faults) = prepare(settings);
        if faults.is_empty() { Ok(prepared) } else { Err(Failure::of(faults)) }
    }
}

/// The state of the walk through all routes that opens their parts.
struct Opening<'s> {
    /// The folder in which Python functions are found.
    base: &'s Path,
    guards: Guards,
    /// The number of folders of files so far.
    folders: usize,
    faults: Vec<Fault>,
}

impl Opening<'_> {
    /// Opens the parts of a site of a file.
    fn site(&mut self, sites: &Sites, site: &Site) -> PreparedSite {
        let pages = self.pages(&site.settings);
        let sources = sources(sites, site);
        let routes = site.routes.iter().map(|route| {
            if is_answered(sites, route) { self.route(route, &sources) } else { PreparedRoute::default() }
        });
        PreparedSite { routes: routes.collect(), pages }
    }

    /// Opens the parts of the site of a command line.
    fn alone(&mut self, settings: &Settings) -> PreparedSite {
        let pages = self.pages(settings);
        let guard = self.guard(settings);
        let mut routes: Vec<PreparedRoute> = Vec::new();
        for (path, place) in folders(settings) {
            let urls = [PathPattern::Prefix(path.into_bytes().into())];
            let content = self.files(&place, &urls, settings, &[], &SaidAt::default());
            routes.push(PreparedRoute { guard, content });
        }
        routes.push(PreparedRoute { guard, content: Content::Nothing });
        PreparedSite { pages, routes }
    }

    fn route(&mut self, route: &SiteRoute, sources: &[Sources]) -> PreparedRoute {
        let guard = self.guard(&route.settings);
        let content = match &route.action {
            SiteAction::Files(place) => {
                self.files(place, &route.paths, &route.settings, sources, &route.said_at("files"))
            }
            SiteAction::Cgi(folder) => match open(folder, &route.settings) {
                Ok(scripts) => Content::Scripts(scripts),
                Err(wrong) => self.refuse(route.said_at("cgi"), wrong),
            },
            _ => Content::Nothing,
        };
        PreparedRoute { guard, content }
    }

    /// Opens the folders in a folder of files that say themselves how they are served. `at`: the place in the settings
    /// that names the folder.
    fn files(
        &mut self,
        place: &Path,
        urls: &[PathPattern],
        settings: &Settings,
        sources: &[Sources],
        at: &SaidAt,
    ) -> Content {
        let number = self.folders;
        self.folders += 1;
        let place = &settings.place(place);
        let mut beneath = Vec::new();
        for url in urls {
            match speaking(RouteFolder { number, place, url, settings }, sources) {
                Ok(folders) => beneath.push(folders),
                Err(wrong) => return self.refuse(at.clone(), wrong),
            }
        }
        Content::Files(PreparedFolder { number, beneath })
    }

    /// Opens the guard of these settings.
    fn guard(&mut self, settings: &Settings) -> Option<GuardNumber> {
        let functions = Named::of(settings).all();
        self.faults.extend(functions.filter_map(|wanted| wanted.find(self.base).err()));
        self.guards.open(settings).unwrap_or_else(|wrong| {
            self.faults.extend(wrong);
            None
        })
    }

    /// Reads the error pages of a site.
    fn pages(&mut self, of_site: &Settings) -> Vec<PreparedPage> {
        let mut pages = Vec::new();
        for (status, file) in &of_site.messages.error_pages {
            match page(of_site, *status, file) {
                Ok(page) => pages.push(PreparedPage { file: of_site.place(file), page }),
                Err(fault) => self.faults.push(fault),
            }
        }
        pages
    }

    fn refuse(&mut self, at: SaidAt, wrong: Failure) -> Content {
        self.faults.push(Fault { at, what: wrong.into_sentence() });
        Content::Nothing
    }
}
