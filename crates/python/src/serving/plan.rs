//! The plan of a server: sites, routes and actions in the form of the loops, out of settings and prepared parts.

use std::sync::{Arc, Mutex};

use adyton_cli::{Compress, Part, Settings, Site as CliSite, SiteAction, SiteRoute, Sites, Target};
use adyton_compress::Coding;
use adyton_files::ErrorPage;
use adyton_files::path::FilePath;
use adyton_log::sink::Destination;
use adyton_route::{Admission, PathPattern, Routes, When};
use adyton_server::{
    AccessLog, Action, App, CacheRules, Cgi, Changes, CompressRules, Fixed, Folders, Guard, Limiter, Plan,
    Route, SendsOn, SentFolder, SharedLog, Site, SiteLimits, StatusPage,
};

use super::authorities::Functions;
use super::failure::Failure;
use super::folders::{Beside, RouteFolder, folders as own_folders};
use super::guards::{GuardNumber, Limiters};
use super::prepared::{Content, Prepared, PreparedPage, PreparedRoute, PreparedSite};
use super::run_files::RunFiles;
use super::scripts::scripts;
use super::settings::{
    folders, is_answered, limits, log_destination, log_queue_bytes_max, routes_of, run_files_alone,
    run_files_of, sends_alike, sent_folders,
};
use crate::serving::run::load::is_own;

/// The plan of the server: the sites of a file, or the site of a command line.
pub(super) fn plan(
    settings: &Settings,
    apps: Vec<Arc<dyn App>>,
    functions: &Functions,
    prepared: Prepared,
) -> Result<Plan, Failure> {
    let mut shared = Shared {
        logs: SharedLogs { opened: Vec::new() },
        guards: prepared.guards.asking(functions),
        limiters: Limiters::default(),
    };
    let sites = if let Some(sites) = &settings.sites {
        sites_of_file(settings, sites, apps, prepared.sites, shared)?
    } else {
        let prepared = prepared.sites.into_iter().flatten();
        let sites = prepared.map(|site| site_of_command_line(settings, &apps, site, &mut shared));
        sites.collect::<Result<_, _>>()?
    };
    Plan::new(sites).map_err(|error| Failure::Said(error.to_string(), 2))
}

/// The things that sites and routes share, each opened once.
struct Shared {
    logs: SharedLogs,
    /// The guards, by their numbers.
    guards: Vec<Arc<Guard>>,
    /// Limiters of the present site.
    limiters: Limiters,
}

/// The site of a command line: folders by prefix, and the application for all other paths.
fn site_of_command_line(
    settings: &Settings,
    apps: &[Arc<dyn App>],
    prepared: PreparedSite,
    shared: &mut Shared,
) -> Result<Site, Failure> {
    let PreparedSite { pages, routes: prepared } = prepared;
    let guard = prepared.first().and_then(|route| route.guard);
    let around = Around::of(settings, settings, guard, shared);
    let rules = compress_rules(settings);
    let route = |path: String, action: Action| {
        let path = PathPattern::Prefix(path.into_bytes().into());
        (path, cached(compressed(around.route(None, action), rules.as_ref(), settings), settings))
    };
    let mut routes: Vec<(PathPattern, Route)> = Vec::new();
    for ((path, place), prepared) in folders(settings).into_iter().zip(prepared) {
        let Content::Files(folder) = prepared.content else { continue };
        let (path, made) = route(path, Action::Files(folder.number));
        let mut made = Route { fallback: fallback(settings), ..made };
        for beneath in folder.beneath.into_iter().flatten() {
            let place = &settings.place(&place);
            let folder = RouteFolder { number: folder.number, place, url: &path, settings };
            made = made.with_folders(own_folders(beneath, folder, Beside::default())?);
        }
        routes.push((path, made));
    }
    routes.extend(apps.iter().map(|app| route(String::new(), Action::App(Arc::clone(app)))));
    let site = Site::new(Vec::new(), Routes::new(routes), limits(settings), shared.logs.of(settings)?);
    let site = site.with_pages(shown(pages, &run_files_alone(settings)));
    Ok(if settings.lets_folders_speak() { site.with_one_spelling() } else { site })
}

/// The error pages that are sent: all but files that are run.
fn shown(pages: Vec<PreparedPage>, run_files: &RunFiles) -> Vec<StatusPage> {
    pages.into_iter().filter(|page| !run_files.have(&page.file)).map(|page| page.page).collect()
}

fn sites_of_file(
    settings: &Settings,
    file: &Sites,
    loaded: Vec<Arc<dyn App>>,
    prepared: Vec<Option<PreparedSite>>,
    mut shared: Shared,
) -> Result<Vec<Site>, Failure> {
    // Applications are loaded in the order of `load::prepare`.
    let mut loaded = loaded.into_iter();
    let apps =
        file.apps.iter().map(|app| if is_own(file, app) { loaded.next() } else { None }).collect::<Vec<_>>();
    let mut sites = Vec::new();
    for (site, prepared) in file.sites.iter().zip(prepared).filter(|(site, _)| file.has(site)) {
        let Some(prepared) = prepared else {
            sites.push(site_elsewhere(site));
            continue;
        };
        let (log, pages) =
            (shared.logs.of(&site.settings)?, shown(prepared.pages, &run_files_of(file, site)));
        // Routes of one site that have equal limits share a limiter.
        shared.limiters = Limiters::default();
        let mut routes = Vec::new();
        for (route, prepared) in site.routes.iter().zip(prepared.routes) {
            if !is_answered(file, route) {
                for path in &route.paths {
                    routes.push((path.clone(), naming(elsewhere(file, route), file, route)));
                }
                continue;
            }
            let PreparedRoute { guard, content } = prepared;
            let around = Around::of(settings, &route.settings, guard, &mut shared);
            let (opened, beneath) = opened(route, content);
            let mut beneath = beneath.into_iter();
            for path in &route.paths {
                let action = action(route, &opened, &apps);
                let made = naming(compiled(path, route, action, &around), file, route);
                let made = timed(made, site, &route.settings, log.as_ref(), &pages);
                let made = match (&route.action, &opened, beneath.next().flatten()) {
                    (SiteAction::Files(place), &Opened::Files(number), Some(folders)) => {
                        let pages = route.pages.and_then(|app| apps[app].as_ref());
                        let beside = Beside { root: site.root.as_deref(), pages };
                        let (settings, url) = (&route.settings, path);
                        let place = &settings.place(place);
                        let folder = RouteFolder { number, place, url, settings };
                        made.with_folders(own_folders(folders, folder, beside)?)
                    }
                    _ => made,
                };
                routes.push((path.clone(), made));
            }
        }
        let made = Site::new(site.hosts.clone(), Routes::new(routes), limits(&site.settings), log);
        let made = made.with_one_spelling().with_paths(site.ahead.clone());
        sites.push(made.with_pages(pages));
    }
    if sites.is_empty() {
        // Groups serve all sites at addresses of their own: no client reaches this process, unless a group does not
        // start.
        let log = shared.logs.of(settings)?;
        sites.push(Site::new(Vec::new(), Routes::new(Vec::new()), limits(settings), log));
    }
    Ok(sites)
}

/// A site for which this process answers nothing: the door answers, or knows the process that does.
fn site_elsewhere(site: &CliSite) -> Site {
    let everything = (PathPattern::Prefix(Box::default()), home(false).into());
    let routes = Routes::new(vec![everything]);
    Site::new(site.hosts.clone(), routes, limits(&site.settings), None).with_one_spelling()
}

/// Forwards a request from a group to the door, which answers it or forwards it to another group.
fn home(is_folder: bool) -> Action {
    Action::Elsewhere { passage: 0, is_folder }
}

/// Forwards a request from the door to a group.
fn away(group: Option<usize>) -> Action {
    Action::Elsewhere { passage: group.unwrap_or_default(), is_folder: false }
}

/// A route whose requests another process answers; that process also judges who may send them.
fn elsewhere(file: &Sites, route: &SiteRoute) -> Route {
    let action = match (&route.action, file.part) {
        (SiteAction::Files(_), _) => home(true),
        (SiteAction::App(number), Part::Whole | Part::Door) => away(file.apps[*number].group),
        (SiteAction::Cgi(scripts), Part::Whole | Part::Door) => away(scripts.group),
        _ => home(false),
    };
    let when = (route.when != When::default()).then(|| Box::new(route.when.clone()));
    let made = Route { when, ..action.into() };
    if route.is_internal { made.internal() } else { made }
}

/// Settings of a route other than its action.
struct Around {
    limiter: Option<Arc<Limiter>>,
    admission: Admission,
    guard: Option<Arc<Guard>>,
    changes: Option<Arc<Changes>>,
}

impl Around {
    /// Reads these settings; `all` are the settings of the server.
    fn of(all: &Settings, settings: &Settings, guard: Option<GuardNumber>, shared: &mut Shared) -> Around {
        let changes = Changes {
            edits: settings.head_edits(),
            replaces_errors: settings.answers.intercept_errors,
            sends_on: sends_on(all, settings),
            ..Changes::default()
        };
        Around {
            limiter: shared.limiters.of(settings),
            admission: settings.admission(),
            guard: guard.map(|guard| Arc::clone(&shared.guards[guard.0])),
            changes: if changes.is_empty() { None } else { Some(Arc::new(changes)) },
        }
    }

    fn route(&self, when: Option<Box<When>>, action: Action) -> Route {
        let is_open = self.admission.is_open();
        Route {
            when,
            limiter: self.limiter.clone(),
            admission: if is_open { None } else { Some(Box::new(self.admission.clone())) },
            guard: self.guard.clone(),
            changes: self.changes.clone(),
            ..action.into()
        }
    }
}

/// The places to which applications may send requests on; `all` are the settings of the server.
fn sends_on(all: &Settings, settings: &Settings) -> Option<SendsOn> {
    let sent = settings.answers.x_sendfile.as_deref().and_then(|folder| {
        let number = sent_folders(all).iter().position(|(_, other)| sends_alike(other, settings))?;
        let is_served = |route: &&SiteRoute| matches!(route.action, SiteAction::Files(_));
        let served = folders(all).len() + routes_of(all).filter(is_served).count();
        let place = settings.place(folder);
        let absolute = std::path::absolute(&place).unwrap_or(place);
        let mut places = vec![absolute.clone()];
        places.extend(absolute.canonicalize().ok().filter(|place| *place != absolute));
        let places = places.into_iter().map(|place| {
            place
                .as_os_str()
                .as_encoded_bytes()
                .trim_ascii_end()
                .strip_suffix(b"/")
                .unwrap_or(place.as_os_str().as_encoded_bytes())
                .into()
        });
        Some(SentFolder { number: served + number, places: places.collect() })
    });
    let routes = settings.answers.internal_redirects;
    (routes || sent.is_some()).then_some(SendsOn { files: sent, routes })
}

/// The folder of a route in the form of the loops.
enum Opened {
    /// A folder of files, by its number.
    Files(usize),
    /// A folder of scripts.
    Scripts(Arc<Cgi>),
    /// The route has no folder.
    Nothing,
}

/// Makes of the prepared folder of a route its form for the loops, and for each path of the route the folders beneath
/// it that say how they are served.
fn opened(route: &SiteRoute, content: Content) -> (Opened, Vec<Option<Folders>>) {
    match (content, &route.action) {
        (Content::Files(folder), _) => (Opened::Files(folder.number), folder.beneath),
        (Content::Scripts(programs), SiteAction::Cgi(folder)) => {
            (Opened::Scripts(scripts(programs, folder, &route.settings)), Vec::new())
        }
        _ => (Opened::Nothing, Vec::new()),
    }
}

/// The action that answers the requests of a route.
fn action(route: &SiteRoute, opened: &Opened, apps: &[Option<Arc<dyn App>>]) -> Action {
    match &route.action {
        SiteAction::App(number) => match &apps[*number] {
            Some(app) => Action::App(Arc::clone(app)),
            None => Action::Page(ErrorPage::new(500, "The application of this route was not loaded.")),
        },
        SiteAction::Files(_) | SiteAction::Cgi(_) => match opened {
            Opened::Files(number) => Action::Files(*number),
            Opened::Scripts(scripts) => Action::Cgi(Arc::clone(scripts)),
            Opened::Nothing => Action::Page(ErrorPage::new(500, "The folder of this route was not opened.")),
        },
        SiteAction::Redirect(status, location) => Action::Redirect(*status, location.clone()),
        SiteAction::Status(status) => Action::Page(ErrorPage::new(*status, "")),
        SiteAction::Text { status, content_type, body } => Action::Fixed(Fixed {
            status: *status,
            content_type: content_type.as_str().into(),
            body: body.as_bytes().into(),
        }),
    }
}

/// A route in the form of the loops.
fn compiled(path: &PathPattern, route: &SiteRoute, action: Action, around: &Around) -> Route {
    let when = if route.when == When::default() { None } else { Some(Box::new(route.when.clone())) };
    let made = around.route(when, action);
    let made = Route { mount_bytes: route.mount.bytes(path).unwrap_or_default(), ..made };
    let made = if route.is_internal { made.internal() } else { made };
    let rules = compress_rules(&route.settings);
    cached(compressed(made, rules.as_ref(), &route.settings), &route.settings)
}

/// Names the file with which a route answers for an absent file, or the index of its scripts.
fn naming(route: Route, file: &Sites, said: &SiteRoute) -> Route {
    match &said.action {
        SiteAction::Files(_) => Route { fallback: fallback(&said.settings), ..route },
        SiteAction::App(number) => match &file.apps[*number].target {
            Target::Scripts(scripts) => {
                Route { scripts_index: Some(scripts.index.as_bytes().into()), ..route }
            }
            _ => route,
        },
        _ => route,
    }
}

/// The path, within its folder, of the file that answers for absent files.
fn fallback(settings: &Settings) -> Option<Box<[u8]>> {
    let page = settings.files.static_fallback.as_ref()?.replace('%', "%25");
    FilePath::parse(page.as_bytes()).ok().map(|path| path.relative().into())
}

/// Gives a route the time limits of its own settings, if the time limits of its site differ.
fn timed(
    route: Route,
    site: &CliSite,
    of_route: &Settings,
    log: Option<&SharedLog>,
    pages: &[StatusPage],
) -> Route {
    let of_site = limits(&site.settings);
    let limits = SiteLimits { call: limits(of_route).call, ..of_site };
    if limits == of_site {
        return route;
    }
    route.timed(&site.hosts, limits, log.cloned(), pages.to_vec())
}

/// The rules for compressing answers of applications, if they are compressed.
fn compress_rules(settings: &Settings) -> Option<Arc<CompressRules>> {
    let codings = match &settings.compression.compress {
        Compress::Off => return None,
        Compress::On => vec![Coding::Zstd, Coding::Br, Coding::Gzip],
        Compress::Only(codings) => codings.clone(),
    };
    let (bytes_min, with_cookies) =
        (settings.compression.compress_bytes_min, settings.compression.compress_cookies);
    Some(Arc::new(CompressRules { codings, bytes_min, with_cookies }))
}

/// Has the answers of a route compressed by these rules, if something is run for it.
fn compressed(route: Route, rules: Option<&Arc<CompressRules>>, settings: &Settings) -> Route {
    match rules.filter(|_| runs_something(&route.action, settings)) {
        Some(rules) => route.compressing(Arc::clone(rules)),
        None => route,
    }
}

/// Has the answers of a route cached by these settings, if something is run for it. Answers to authenticated clients
/// are never cached.
fn cached(route: Route, settings: &Settings) -> Route {
    let is_kept = runs_something(&route.action, settings) && route.guard.is_none();
    match settings.caching.cache_ms.filter(|_| is_kept) {
        Some(fresh_ms) => {
            route.caching(CacheRules { fresh_ms, with_cookies: settings.caching.cache_cookies })
        }
        None => route,
    }
}

/// Whether an application or a program answers for a route, or may do so for some paths of its folder.
fn runs_something(action: &Action, settings: &Settings) -> bool {
    match action {
        Action::App(_) | Action::Cgi(_) => true,
        Action::Files(_) => settings.lets_folders_run() || settings.lets_folders_have_pages(),
        _ => false,
    }
}

/// The access logs, each opened once and shared by its sites.
struct SharedLogs {
    opened: Vec<(Destination, String, SharedLog)>,
}

impl SharedLogs {
    /// The log of these settings.
    fn of(&mut self, settings: &Settings) -> Result<Option<SharedLog>, Failure> {
        let Some(destination) = &settings.logging.access_log else { return Ok(None) };
        let destination = log_destination(settings, destination);
        let format = settings.logging.access_log_format.atoms().unwrap_or("json");
        let mut opened = self.opened.iter().filter(|(other, _, _)| *other == destination);
        if let Some((_, other, log)) = opened.next() {
            if other != format {
                let what = format!("access-log-format: two sites write {destination} in different formats");
                return Err(Failure::Said(what, 2));
            }
            return Ok(Some(Arc::clone(log)));
        }
        let log = AccessLog::open(&destination, format, log_queue_bytes_max(settings))
            .map_err(|error| Failure::Said(error.to_string(), 2))?;
        let log = Arc::new(Mutex::new(log));
        self.opened.push((destination, format.to_owned(), Arc::clone(&log)));
        Ok(Some(log))
    }
}
