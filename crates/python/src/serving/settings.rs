//! Turns settings into the loops' configuration, folders, logs and users.

use std::borrow::Cow;
use std::ffi::OsString;
use std::fs;
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex};

use adyton_cli::{
    AccessLogFormat, Compress, Fault, HandOver as HandsOver, INDEX, LogFormat, Part, SaidAt, Settings,
    Site as CliSite, SiteAction, SiteRoute, Sites, Target, UnderscoreHeaders,
};
use adyton_compress::{CODINGS, Coding};
use adyton_files::path::FilePath;
use adyton_files::{CacheRoom, Compressing, ErrorPage, Folder, Options, Sources, mime_type};
use adyton_http1::Limits;
use adyton_log as log;
use adyton_log::sink::Destination;
use adyton_route::{Admission, HeadEdits, PathPattern, Routes, When};
use adyton_server::{
    AccessLog, Action, App, Authority, BodyMemory, CacheRules, CallLimits, Changes, CompressRules, Config,
    Fixed, Guard, HandOver, Limiter, Plan, Quota, Route, SendsOn, SentFolder, SharedLog, Site, SiteLimits,
    StatusPage, Trust,
};
use adyton_sys::user::Identity;
use pyo3::prelude::*;

use super::authorities::{Named, Wanted};
use super::failure::Failure;
use super::folders::{Beside, RouteFolder, folders as own_folders};
use super::guards::Guards;
use super::scripts::{scripts, sources};
use super::ways::Ways;
use crate::interpreter::thread_state::has_lock;
use crate::serving::run::load::{is_of, is_own};

/// Descriptors kept for other things than connections: listeners, logs, the application, and open static files
/// (`adyton_files::OPEN_FILES_MAX`). If the process may have few descriptors, half of them are kept.
const DESCRIPTORS_KEPT: u64 = 64 + adyton_files::OPEN_FILES_MAX as u64;

/// Largest error page; each one is kept in memory.
const PAGE_BYTES_MAX: usize = 1 << 20;

/// The settings of each site for which this process answers something.
pub(super) fn of_sites(settings: &Settings) -> impl Iterator<Item = &Settings> {
    entered(settings).map(|(_, site)| &site.settings)
}

/// Whether this process answers for a site: a process of a group does if the group runs a route of the site.
fn is_entered(sites: &Sites, site: &CliSite) -> bool {
    if !sites.has(site) {
        return false;
    }
    let runs = |route: &SiteRoute| matches!(route.action, SiteAction::App(_) | SiteAction::Cgi(_));
    let is_own = |route: &SiteRoute| runs(route) && is_answered(sites, route);
    !matches!(sites.part, Part::Group(_)) || site.routes.iter().any(is_own)
}

/// Whether this process answers the requests of a route, and judges who may send them. A process of a group answers
/// routes that need no files from outside the group; if the group has addresses of its own, the process answers all
/// routes of its sites.
fn is_answered(sites: &Sites, route: &SiteRoute) -> bool {
    let of_group = matches!(sites.part, Part::Group(_)) && !sites.is_of_bound_group();
    match &route.action {
        // An application that this process does not run is checked by the process that runs it.
        SiteAction::App(number) => is_own(sites, &sites.apps[*number]),
        // Files of an internal route are sent for an application, so the application's process answers.
        SiteAction::Files(_) => !of_group || route.is_internal,
        SiteAction::Cgi(scripts) if scripts.group.is_some() => is_of(sites, scripts.group),
        SiteAction::Cgi(_) => !of_group,
        SiteAction::Redirect(..) | SiteAction::Status(_) | SiteAction::Text { .. } => {
            !of_group
                || (route.settings.access.auth.is_none() && route.settings.access.allow_python.is_none())
        }
    }
}

/// The user that workers run as.
pub(super) fn identity(settings: &Settings) -> Result<Option<Identity>, Fault> {
    let group = settings.processes.group.as_deref();
    let found = settings.processes.user.as_deref().map(|user| Identity::find(user, group)).transpose();
    match found {
        Ok(None) if group.is_some() => Err(settings.fault("group", "it goes with --user")),
        Ok(found) => Ok(found),
        Err(why) => Err(settings.fault("user", why)),
    }
}

/// The number of loops: one for each CPU if the interpreter runs threads in parallel; else one.
pub(super) fn loops(py: Python<'_>) -> PyResult<usize> {
    Ok(if has_lock(py)? { 1 } else { std::thread::available_parallelism().map_or(1, usize::from) })
}

/// The place of a log: relative paths are relative to `--chdir`, whichever folder this process is in.
pub(super) fn log_destination(settings: &Settings, destination: &Destination) -> Destination {
    match destination {
        Destination::File(path) => Destination::File(settings.place(path)),
        _ => destination.clone(),
    }
}

/// Sends messages to the log of these settings.
pub(super) fn open_log(settings: &Settings) -> Result<(), Failure> {
    log::set_level(settings.logging.log_level);
    if settings.logging.log_format == LogFormat::Json {
        log::set_json();
    }
    let destination = log_destination(settings, &settings.logging.error_log);
    log::open(&destination)
        .map_err(|error| Failure::Said(format!("cannot open the error log {destination}: {error}"), 2))
}

pub(super) fn log_queue_bytes_max(settings: &Settings) -> usize {
    usize::try_from(settings.logging.log_queue_bytes_max).unwrap_or(usize::MAX)
}

/// The served folders, each with the prefix of its paths.
pub(super) fn folders(settings: &Settings) -> Vec<(String, PathBuf)> {
    let mut folders: Vec<(String, PathBuf)> =
        settings.files.statics.iter().map(|mount| (mount.prefix.clone(), mount.dir.clone())).collect();
    if let Some(Target::Folder(folder)) = &settings.located {
        folders.push((String::new(), folder.clone()));
    }
    folders
}

/// Opens the folders for one loop; all loops share the memory for their contents.
pub(super) fn open_folders(settings: &Settings, cache_room: &Arc<CacheRoom>) -> Result<Vec<Folder>, Failure> {
    let opened = served_folders(settings).map(|folder| folder.open(cache_room));
    opened.map(|folder| folder.map_err(|why| Failure::Said(why, 2))).collect()
}

/// A folder of files that this process serves, or of which its applications have files sent.
pub(super) struct ServedFolder<'s> {
    place: PathBuf,
    settings: Cow<'s, Settings>,
    /// Files that routes of the site run: none of them is sent.
    sources: Vec<Sources>,
    /// The place in the settings that names the folder.
    pub(super) at: SaidAt,
}

impl ServedFolder<'_> {
    /// Opens the folder as its settings say.
    ///
    /// # Errors
    ///
    /// A sentence that says why it cannot be served.
    pub(super) fn open(&self, cache_room: &Arc<CacheRoom>) -> Result<Folder, String> {
        let options = folder_options(&self.place, &self.settings, cache_room);
        let folder = options.root.display().to_string();
        Folder::open(Options { sources: self.sources.clone(), ..options })
            .map_err(|error| format!("the folder {folder} cannot be served: {error}"))
    }
}

/// The folders of files that this process opens, in the order of their numbers.
pub(super) fn served_folders(settings: &Settings) -> impl Iterator<Item = ServedFolder<'_>> {
    let own = folders(settings).into_iter().map(move |(_, place)| ServedFolder {
        place,
        settings: Cow::Borrowed(settings),
        sources: Vec::new(),
        at: SaidAt::default(),
    });
    let of_sites = entered(settings).flat_map(|(sites, site)| {
        let sources = sources(sites, site);
        answered(sites, site).filter_map(move |route| match &route.action {
            SiteAction::Files(folder) => Some(ServedFolder {
                place: folder.clone(),
                settings: Cow::Borrowed(&route.settings),
                sources: sources.clone(),
                at: route.said_at("files"),
            }),
            _ => None,
        })
    });
    let sent = sent_folders(settings).into_iter().map(|(folder, how)| ServedFolder {
        place: folder.to_owned(),
        settings: Cow::Owned(without_pages(how)),
        sources: Vec::new(),
        at: how.said_at("x-sendfile"),
    });
    own.chain(of_sites).chain(sent)
}

/// The routes of a file that this process answers.
pub(super) fn routes_of(settings: &Settings) -> impl Iterator<Item = &SiteRoute> {
    entered(settings).flat_map(|(sites, site)| answered(sites, site))
}

/// The settings of each route of a file that this process answers, or of a command line.
pub(super) fn each_answered(settings: &Settings) -> impl Iterator<Item = &Settings> {
    let alone = std::iter::once(settings).filter(|settings| settings.sites.is_none());
    alone.chain(routes_of(settings).map(|route| &route.settings))
}

/// The sites of a file for which this process answers something.
fn entered(settings: &Settings) -> impl Iterator<Item = (&Sites, &CliSite)> {
    settings.sites.as_deref().into_iter().flat_map(|sites| {
        sites.sites.iter().filter(|site| is_entered(sites, site)).map(move |site| (sites, site))
    })
}

/// The routes of a site that this process answers.
fn answered<'s>(sites: &'s Sites, site: &'s CliSite) -> impl Iterator<Item = &'s SiteRoute> {
    site.routes.iter().filter(|route| is_answered(sites, route))
}

/// The Python functions that guards of this process ask, each once.
pub(super) fn programs(settings: &Settings) -> Vec<Wanted> {
    let mut all: Vec<Wanted> = Vec::new();
    for settings in each_answered(settings) {
        for wanted in Named::of(settings).all() {
            if !all.contains(&wanted) {
                all.push(wanted);
            }
        }
    }
    all
}

/// The folders of which applications may have files sent, each once, with the settings that allow it. They are opened
/// after the served folders.
fn sent_folders(settings: &Settings) -> Vec<(&Path, &Settings)> {
    let mut found: Vec<(&Path, &Settings)> = Vec::new();
    for how in each_answered(settings) {
        if let Some(folder) = how.answers.x_sendfile.as_deref()
            && !found.iter().any(|(_, other)| sends_alike(other, how))
        {
            found.push((folder, how));
        }
    }
    found
}

/// Whether two settings have files of the same folder sent in the same way.
fn sends_alike(one: &Settings, other: &Settings) -> bool {
    let way = |settings: &Settings| {
        (
            settings.files.static_symlinks,
            settings.files.static_precompressed,
            settings.files.static_cache_file_bytes_max,
        )
    };
    one.answers.x_sendfile == other.answers.x_sendfile
        && one.files.static_cache_control == other.files.static_cache_control
        && way(one) == way(other)
}

/// The settings of a folder whose files only applications ask for: it needs no pages for people.
fn without_pages(settings: &Settings) -> Settings {
    let mut settings = settings.clone();
    settings.files.static_listing = false;
    settings.files.static_404 = None;
    settings.files.static_fallback = None;
    settings.files.static_fall_through = false;
    settings
}

/// The options of a folder with these settings.
fn folder_options(folder: &Path, how: &Settings, cache_room: &Arc<CacheRoom>) -> Options {
    Options {
        index: INDEX.to_owned(),
        listing: how.files.static_listing,
        cache_control: how.files.static_cache_control.clone(),
        not_found_page: how.files.static_404.clone(),
        spa_fallback: how.files.static_fallback.clone(),
        fall_through: how.files.static_fall_through,
        precompressed: how.files.static_precompressed,
        compressing: compressing(how, &how.head_edits()),
        follow_symlinks: how.files.static_symlinks,
        cache_room: Arc::clone(cache_room),
        cache_file_bytes_max: how.files.static_cache_file_bytes_max,
        ..Options::new(how.place(folder))
    }
}

/// The plan of the server: the sites of a file, or the site of a command line.
pub(super) fn plan(
    settings: &Settings,
    apps: Vec<Arc<dyn App>>,
    functions: Vec<(Wanted, Arc<dyn Authority>)>,
) -> Result<Plan, Failure> {
    let shared = Shared { logs: SharedLogs { opened: Vec::new() }, guards: Guards::asking(functions) };
    let sites = match &settings.sites {
        Some(sites) => sites_of_file(settings, sites, apps, shared)?,
        None => vec![site_of_command_line(settings, apps, shared)?],
    };
    Plan::new(sites).map_err(|error| Failure::Said(error.to_string(), 2))
}

/// The things that sites and routes share, each opened once.
struct Shared {
    logs: SharedLogs,
    guards: Guards,
}

/// The site of a command line: folders by prefix, and the application for all other paths.
fn site_of_command_line(
    settings: &Settings,
    apps: Vec<Arc<dyn App>>,
    mut shared: Shared,
) -> Result<Site, Failure> {
    let around = Around::of(settings, settings, &mut shared.guards)?;
    let rules = compress_rules(settings);
    let route = |path: String, action: Action| {
        let path = PathPattern::Prefix(path.into_bytes().into());
        (path, cached(compressed(around.route(None, action), rules.as_ref(), settings), settings))
    };
    let mut routes: Vec<(PathPattern, Route)> = Vec::new();
    for (number, (path, place)) in folders(settings).into_iter().enumerate() {
        let (path, made) = route(path, Action::Files(number));
        let made = Route { fallback: fallback(settings), ..made };
        let folder = RouteFolder { number, place: &settings.place(&place), url: &path, settings };
        let made = speaking(made, folder, Beside::default())?;
        routes.push((path, made));
    }
    routes.extend(apps.into_iter().map(|app| route(String::new(), Action::App(app))));
    let site = Site::new(Vec::new(), Routes::new(routes), limits(settings), shared.logs.of(settings)?);
    let site = site.with_pages(pages(settings, &ways_alone(settings))?);
    Ok(if settings.lets_folders_speak() { site.with_one_spelling() } else { site })
}

/// Each site for which this process answers something, with the files that it runs.
pub(super) fn sites_with_ways(settings: &Settings) -> impl Iterator<Item = (&CliSite, Ways)> {
    entered(settings).map(|(sites, site)| (site, ways_of(sites, site)))
}

/// The files that a site runs.
fn ways_of(sites: &Sites, site: &CliSite) -> Ways {
    Ways::of(sources(sites, site), file_folders(site))
}

/// Each folder of files of a site, with the settings of its route.
pub(super) fn file_folders(site: &CliSite) -> impl Iterator<Item = (PathBuf, &Settings)> {
    site.routes.iter().filter_map(|route| match &route.action {
        SiteAction::Files(folder) => Some((folder.clone(), &route.settings)),
        _ => None,
    })
}

/// The files that are run if a command line names the folders.
pub(super) fn ways_alone(settings: &Settings) -> Ways {
    Ways::of(Vec::new(), folders(settings).into_iter().map(|(_, place)| (place, settings)))
}

/// Reads a site's error pages, except files that are run.
fn pages(settings: &Settings, ways: &Ways) -> Result<Vec<StatusPage>, Failure> {
    let shown = settings.messages.error_pages.iter().filter(|(_, file)| !ways.run(&settings.place(file)));
    let pages = shown.map(|(status, file)| page(settings, *status, file));
    pages.map(|page| page.map_err(|why| Failure::Said(why, 2))).collect()
}

/// Reads the error page for a status.
///
/// # Errors
///
/// A sentence that says why the file is no page.
pub(super) fn page(settings: &Settings, status: u16, file: &Path) -> Result<StatusPage, String> {
    let wrong = |why: String| format!("error-pages: {status}={}: {why}", file.display());
    let body = fs::read(settings.place(file)).map_err(|error| wrong(error.to_string()))?;
    if body.len() > PAGE_BYTES_MAX {
        return Err(wrong(format!("the page has more than {PAGE_BYTES_MAX} bytes")));
    }
    Ok(StatusPage { status, content_type: mime_type(file).into_owned().into(), body: body.into() })
}

fn sites_of_file(
    settings: &Settings,
    file: &Sites,
    loaded: Vec<Arc<dyn App>>,
    mut shared: Shared,
) -> Result<Vec<Site>, Failure> {
    // Folders have numbers in the order of `open_folders`, applications in that of `load::prepare`.
    let (mut folders, mut loaded) = (0.., loaded.into_iter());
    let apps =
        file.apps.iter().map(|app| if is_own(file, app) { loaded.next() } else { None }).collect::<Vec<_>>();
    let mut sites = Vec::new();
    for site in file.sites.iter().filter(|site| file.has(site)) {
        if !is_entered(file, site) {
            let everything = (PathPattern::Prefix(Box::default()), home(false).into());
            let routes = Routes::new(vec![everything]);
            sites.push(
                Site::new(site.hosts.clone(), routes, limits(&site.settings), None).with_one_spelling(),
            );
            continue;
        }
        let (log, pages) = (shared.logs.of(&site.settings)?, pages(&site.settings, &ways_of(file, site))?);
        let sources = sources(file, site);
        // Routes of one site that have equal limits share a limiter.
        shared.guards.limiters.clear();
        let mut routes = Vec::new();
        for route in &site.routes {
            if !is_answered(file, route) {
                for path in &route.paths {
                    routes.push((path.clone(), naming(elsewhere(file, route), file, route)));
                }
                continue;
            }
            let folder = if matches!(route.action, SiteAction::Files(_)) { folders.next() } else { None };
            let around = Around::of(settings, &route.settings, &mut shared.guards)?;
            for path in &route.paths {
                let action = action(route, folder, &apps)?;
                let made = naming(compiled(path, route, action, &around), file, route);
                let made = timed(made, site, &route.settings, log.as_ref(), &pages);
                let made = match (&route.action, folder) {
                    (SiteAction::Files(place), Some(number)) => {
                        let pages = route.pages.and_then(|app| apps[app].as_ref());
                        let beside = Beside { root: site.root.as_deref(), pages, sources: &sources };
                        let (settings, url) = (&route.settings, path);
                        let place = &settings.place(place);
                        speaking(made, RouteFolder { number, place, url, settings }, beside)?
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

/// A route of files, with the settings of its folders, if they may have some.
fn speaking(route: Route, folder: RouteFolder<'_>, beside: Beside<'_>) -> Result<Route, Failure> {
    Ok(match own_folders(folder, beside)? {
        Some(folders) => route.with_folders(folders),
        None => route,
    })
}

/// Forwards a request from a group to the door, which answers it or forwards it to another group.
fn home(is_folder: bool) -> Action {
    Action::Elsewhere { passage: 0, is_folder }
}

/// Forwards a request from the door to a group.
fn away(group: Option<usize>) -> Action {
    Action::Elsewhere { passage: group.unwrap_or_default(), is_folder: false }
}

/// A route that another process answers, and judges.
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
    /// Reads these settings; `all` are those of the server.
    fn of(all: &Settings, settings: &Settings, guards: &mut Guards) -> Result<Around, Failure> {
        let changes = Changes {
            edits: settings.head_edits(),
            replaces_errors: settings.answers.intercept_errors,
            sends_on: sends_on(all, settings),
            ..Changes::default()
        };
        Ok(Around {
            limiter: guards.limiter(settings),
            admission: settings.admission(),
            guard: guards.of(settings)?,
            changes: if changes.is_empty() { None } else { Some(Arc::new(changes)) },
        })
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

/// The action that answers the requests of a route.
fn action(
    route: &SiteRoute,
    folder: Option<usize>,
    apps: &[Option<Arc<dyn App>>],
) -> Result<Action, Failure> {
    Ok(match &route.action {
        SiteAction::App(number) => match &apps[*number] {
            Some(app) => Action::App(Arc::clone(app)),
            None => Action::Page(ErrorPage::new(500, "The application of this route was not loaded.")),
        },
        SiteAction::Files(_) => Action::Files(folder.unwrap_or_default()),
        SiteAction::Cgi(folder) => Action::Cgi(scripts(folder, &route.settings)?),
        SiteAction::Redirect(status, location) => Action::Redirect(*status, location.clone()),
        SiteAction::Status(status) => Action::Page(ErrorPage::new(*status, "")),
        SiteAction::Text { status, content_type, body } => Action::Fixed(Fixed {
            status: *status,
            content_type: content_type.as_str().into(),
            body: body.as_bytes().into(),
        }),
    })
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

/// The path, within its folder, of the file that answers for absent ones.
fn fallback(settings: &Settings) -> Option<Box<[u8]>> {
    let page = settings.files.static_fallback.as_ref()?.replace('%', "%25");
    FilePath::parse(page.as_bytes()).ok().map(|path| path.relative().into())
}

/// Gives a route the time limits of its own settings, if those of its site differ.
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

/// The rules for compressing files that are sent with these edits.
fn compressing(settings: &Settings, edits: &HeadEdits) -> Compressing {
    let codings = match &settings.compression.compress {
        _ if edits.adds("Cache-Control", "no-transform") => Vec::new(),
        Compress::Off => Vec::new(),
        Compress::On => CODINGS.to_vec(),
        Compress::Only(codings) => codings.clone(),
    };
    let (bytes_min, bytes_max) =
        (settings.compression.compress_bytes_min, settings.compression.compress_file_bytes_max);
    Compressing { codings, bytes_min, bytes_max }
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

fn limits(settings: &Settings) -> SiteLimits {
    SiteLimits {
        body_bytes_max: settings.messages.body_bytes_max,
        body_idle_timeout_ms: settings.timeouts.body_idle_timeout_ms,
        body_rate: settings.timeouts.body_rate_min_bytes_per_second,
        body_rate_grace_ms: settings.timeouts.body_rate_grace_ms,
        write_idle_timeout_ms: settings.timeouts.write_idle_timeout_ms,
        write_rate: settings.timeouts.write_rate_min_bytes_per_second,
        write_rate_grace_ms: settings.timeouts.write_rate_grace_ms,
        keep_alive_timeout_ms: settings.timeouts.keep_alive_timeout_ms,
        keep_alive_requests_max: settings.connections.keep_alive_requests_max,
        stream_body: settings.threads.stream_body,
        call: CallLimits {
            silence_ms: settings.threads.request_timeout_ms,
            total_ms: settings.threads.request_total_timeout_ms,
        },
    }
}

/// Fields of proxies that are believed if none are named.
const USUAL_FIELDS: [&str; 2] = ["X-Forwarded-For", "X-Forwarded-Proto"];

/// The proxies that are believed, and their fields.
fn trust(settings: &Settings) -> Option<Trust> {
    if settings.listening.trusted_proxies.is_empty() {
        return None;
    }
    let mut trust = Trust::new(settings.listening.trusted_proxies.clone());
    let named = settings.listening.trusted_fields.iter().map(String::as_str);
    let usual = USUAL_FIELDS.into_iter().filter(|_| settings.listening.trusted_fields.is_empty());
    for field in named.chain(usual) {
        let believed = trust.add_field(field);
        debug_assert_eq!(Ok(()), believed, "it was looked at when it was read");
    }
    Some(trust)
}

pub(super) fn config(settings: &Settings, descriptors_max: u64, spawn_command: Vec<OsString>) -> Config {
    let count = |number: u64| usize::try_from(number).unwrap_or(usize::MAX);
    let connections_max = match settings.connections.connections_max {
        0 => (descriptors_max - DESCRIPTORS_KEPT.min(descriptors_max / 2)).max(1),
        chosen => chosen,
    };
    Config {
        head: Limits {
            line_bytes_max: count(settings.messages.request_line_bytes_max),
            field_bytes_max: count(settings.messages.header_field_bytes_max),
            head_bytes_max: count(settings.messages.header_bytes_max),
            fields_max: count(settings.messages.header_fields_max),
        },
        request_id_field: settings.logging.request_id_header.clone().unwrap_or_default().into_bytes(),
        logs_traces: settings.logging.log_format == LogFormat::Json
            || settings.logging.access_log.is_some()
                && settings.logging.access_log_format == AccessLogFormat::Json,
        refuse_underscores: settings.messages.underscore_headers == UnderscoreHeaders::Refuse,
        body_memory: BodyMemory::new(settings.messages.body_memory_max),
        body_files: Quota::new(settings.messages.body_files_bytes_max),
        temp_dir: settings.place_from_folder(&settings.messages.temp_dir),
        first_byte_timeout_ms: settings.timeouts.first_byte_timeout_ms,
        head_timeout_ms: settings.timeouts.header_timeout_ms,
        connections_max: count(connections_max),
        connections_per_address_max: u32::try_from(settings.connections.connections_per_address_max)
            .unwrap_or(u32::MAX),
        drain_bytes_max: settings.connections.drain_bytes_max,
        linger_timeout_ms: settings.timeouts.linger_timeout_ms,
        graceful_timeout_ms: settings.timeouts.graceful_timeout_ms,
        threads: usize::try_from(settings.threads.threads).unwrap_or(1),
        hand_over: match settings.threads.hand_over {
            HandsOver::Auto => HandOver::Auto,
            HandsOver::Always => HandOver::Always,
            HandsOver::Never => HandOver::Never,
        },
        nice: settings.threads.slow_nice,
        queue_max: count(settings.threads.queue_limit),
        queue_timeout_ms: settings.threads.queue_timeout_ms,
        crowded_timeout_ms: settings.connections.crowded_timeout_ms,
        stream_body_threads_max: usize::try_from(settings.threads.stream_body_threads_max)
            .unwrap_or(usize::MAX),
        scripts_max: count(settings.scripts.cgi_processes),
        spawn_command,
        output_bytes_max: settings.threads.output_bytes_max,
        compress_memory_max: settings.compression.compress_memory_max,
        cache_memory_max: settings.caching.cache_memory_max,
        trust: trust(settings),
        proxy_headers: settings.listening.proxy_protocol,
        // A worker gets the key with its place.
        seal_key: None,
        server: server_line(settings.messages.server_header.as_deref().unwrap_or_default()),
    }
}

/// The line of the `Server` field; empty for an empty name.
fn server_line(name: &str) -> Vec<u8> {
    if name.is_empty() { Vec::new() } else { format!("Server: {name}\r\n").into_bytes() }
}
