//! What the settings become: the loops' configuration, folders, logs, the user; and what is wrong with them.

use std::fs;
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex};

use adyton_cli::{
    AccessLogFormat, Auth, HandOver as HandsOver, LogFormat, Settings, SiteAction, SiteRoute, Target,
    UnderscoreHeaders,
};
use adyton_files::{CacheRoom, ErrorPage, Folder, Options, mime_type};
use adyton_http1::Limits;
use adyton_log::sink::Destination;
use adyton_log::{self as log, messages};
use adyton_route::{PathPattern, Routes, When};
use adyton_server::{
    AccessLog, Action, Admission, App, CallLimits, Config, Fixed, Guard, GuardRules, HandOver, Plan, Quota,
    Route, Scheme, SharedLog, Site, SiteLimits, StatusPage, Trust,
};
use adyton_sys::user::Identity;
use pyo3::prelude::*;

use super::failure::Failure;

/// Descriptors that are not connections: listeners, logs, the application's own, and static files kept open
/// (`adyton_files::OPEN_FILES_MAX`). Where few are allowed, half of them.
const DESCRIPTORS_KEPT: u64 = 64 + adyton_files::OPEN_FILES_MAX as u64;

/// A page for an error is kept in memory.
const PAGE_BYTES_MAX: usize = 1 << 20;

/// Looks for what is wrong in settings that have no fault each by itself.
pub(super) fn check_settings(settings: &Settings) -> Result<(), Failure> {
    for of_site in std::iter::once(settings).chain(of_sites(settings)) {
        let format = of_site.access_log_format.atoms().unwrap_or("json");
        AccessLog::check_format(format).map_err(|reason| Failure::Said(reason, 2))?;
        if let Some(destination) = &of_site.access_log {
            check_destination("access", &log_destination(settings, destination))?;
        }
    }
    let routes = settings.sites.iter().flat_map(|sites| &sites.sites).flat_map(|site| &site.routes);
    let mut guards = Guards { base: settings.chdir.clone(), opened: Vec::new() };
    for of_route in std::iter::once(settings).chain(routes.map(|route| &route.settings)) {
        guards.of(of_route)?;
    }
    guards.tell_weak();
    for of_site in std::iter::once(settings).chain(of_sites(settings)) {
        pages(of_site)?;
    }
    if settings.trusted_proxies.is_empty() {
        let alone = [
            ("trusted-fields", !settings.trusted_fields.is_empty()),
            ("proxy-protocol", settings.proxy_protocol),
        ];
        if let Some((name, _)) = alone.into_iter().find(|(_, is_given)| *is_given) {
            return Err(Failure::Said(
                format!("{name}: it goes with trusted-proxies, which says whose word counts"),
                2,
            ));
        }
    }
    identity(settings)?;
    open_folders(settings, &CacheRoom::new(0))?;
    for sentence in adyton_cli::absent_folders(settings) {
        log::write(&messages::FOLDER_ABSENT, format_args!("{sentence}"));
    }
    Ok(())
}

/// The settings of each site of a file.
fn of_sites(settings: &Settings) -> impl Iterator<Item = &Settings> {
    settings.sites.iter().flat_map(|sites| &sites.sites).map(|site| &site.settings)
}

/// The user that workers run as.
pub(super) fn identity(settings: &Settings) -> Result<Option<Identity>, Failure> {
    let group = settings.group.as_deref();
    let found = settings.user.as_deref().map(|user| Identity::find(user, group)).transpose();
    match found {
        Ok(None) if group.is_some() => Err(Failure::Said("--group: it goes with --user".to_owned(), 2)),
        Ok(found) => Ok(found),
        Err(why) => Err(Failure::Said(format!("--user: {why}"), 2)),
    }
}

/// A loop for each CPU where the interpreter runs threads at the same time; else one.
pub(super) fn loops(py: Python<'_>) -> PyResult<usize> {
    let locked = match py.import("sys")?.getattr_opt("_is_gil_enabled")? {
        Some(asks) => asks.call0()?.extract()?,
        None => true,
    };
    Ok(if locked { 1 } else { std::thread::available_parallelism().map_or(1, usize::from) })
}

/// Where a log is: relative paths are relative to `--chdir`, wherever this process is already.
pub(super) fn log_destination(settings: &Settings, destination: &Destination) -> Destination {
    match (destination, &settings.chdir) {
        (Destination::File(path), Some(folder)) => Destination::File(folder.join(path)),
        _ => destination.clone(),
    }
}

/// Has messages go where the settings say.
pub(super) fn open_log(settings: &Settings) -> Result<(), Failure> {
    log::set_level(settings.log_level);
    if settings.log_format == LogFormat::Json {
        log::set_json();
    }
    let destination = log_destination(settings, &settings.error_log);
    log::open(&destination)
        .map_err(|error| Failure::Said(format!("cannot open the error log {destination}: {error}"), 2))
}

/// Makes sure that the log can be written, before anything is begun.
pub(super) fn check_log(settings: &Settings) -> Result<(), Failure> {
    check_destination("error", &log_destination(settings, &settings.error_log))
}

fn check_destination(name: &str, destination: &Destination) -> Result<(), Failure> {
    let refused = |error| Failure::Said(format!("cannot open the {name} log {destination}: {error}"), 2);
    destination.check().map_err(refused)
}

pub(super) fn log_queue_bytes_max(settings: &Settings) -> usize {
    usize::try_from(settings.log_queue_bytes_max).unwrap_or(usize::MAX)
}

/// The folders that are served, with the beginnings of their paths.
pub(super) fn folders(settings: &Settings) -> Vec<(String, PathBuf)> {
    let mut folders: Vec<(String, PathBuf)> =
        settings.statics.iter().map(|mount| (mount.prefix.clone(), mount.dir.clone())).collect();
    if let Some(Target::Folder(folder)) = &settings.located {
        folders.push((String::new(), folder.clone()));
    }
    folders
}

/// Opens the folders for one loop; all loops share the room for their contents.
pub(super) fn open_folders(settings: &Settings, cache_room: &Arc<CacheRoom>) -> Result<Vec<Folder>, Failure> {
    let own = folders(settings).into_iter().map(|(_, folder)| (folder, settings));
    let routes = settings.sites.iter().flat_map(|sites| &sites.sites).flat_map(|site| &site.routes);
    let of_sites = routes.filter_map(|route| match &route.action {
        SiteAction::Files(folder) => Some((folder.clone(), &route.settings)),
        _ => None,
    });
    own.chain(of_sites).map(|(folder, how)| open_folder(settings, &folder, how, cache_room)).collect()
}

fn open_folder(
    settings: &Settings,
    folder: &Path,
    how: &Settings,
    cache_room: &Arc<CacheRoom>,
) -> Result<Folder, Failure> {
    // Wherever this process is already.
    let folder = settings.chdir.as_ref().map_or(folder.to_owned(), |base| base.join(folder));
    let options = Options {
        listing: how.static_listing,
        cache_control: how.static_cache_control.clone(),
        not_found_page: how.static_404.clone(),
        spa_fallback: how.static_fallback.clone(),
        fall_through: how.static_fall_through,
        precompressed: how.static_precompressed,
        follow_symlinks: how.static_symlinks,
        cache_room: Arc::clone(cache_room),
        cache_file_bytes_max: how.static_cache_file_bytes_max,
        ..Options::new(&folder)
    };
    Folder::open(options).map_err(|error| {
        Failure::Said(format!("the folder {} cannot be served: {error}", folder.display()), 2)
    })
}

/// What is served: the sites of a file, or those of a command line.
pub(super) fn plan(settings: &Settings, apps: Vec<Arc<dyn App>>) -> Result<Plan, Failure> {
    let logs = SharedLogs { of_server: settings.access_log.clone(), opened: Vec::new() };
    let guards = Guards { base: settings.chdir.clone(), opened: Vec::new() };
    let sites = match &settings.sites {
        Some(sites) => sites_of_file(sites, &apps, (logs, guards))?,
        None => vec![site_of_command_line(settings, apps, (logs, guards))?],
    };
    Plan::new(sites).map_err(|error| Failure::Said(error.to_string(), 2))
}

/// One site, of folders by prefix and the application for all else.
fn site_of_command_line(
    settings: &Settings,
    apps: Vec<Arc<dyn App>>,
    (mut logs, mut guards): (SharedLogs, Guards),
) -> Result<Site, Failure> {
    let guard = guards.of(settings)?;
    let route = |path: String, action: Action| {
        let path = PathPattern::Prefix(path.into_bytes().into());
        (path, Route { guard: guard.clone(), ..action.into() })
    };
    let folders = folders(settings).into_iter().enumerate();
    let mut routes: Vec<(PathPattern, Route)> =
        folders.map(|(folder, (path, _))| route(path, Action::Files(folder))).collect();
    routes.extend(apps.into_iter().map(|app| route(String::new(), Action::App(app))));
    let site = Site::new(Vec::new(), Routes::new(routes), limits(settings), logs.of(settings)?);
    Ok(site.with_pages(pages(settings)?))
}

/// Reads a site's pages for errors.
fn pages(settings: &Settings) -> Result<Vec<StatusPage>, Failure> {
    let read = |(status, file): &(u16, PathBuf)| {
        // Wherever this process is already.
        let place = settings.chdir.as_ref().map_or(file.clone(), |base| base.join(file));
        let wrong =
            |why: String| Failure::Said(format!("error-pages: {status}={}: {why}", file.display()), 2);
        let body = fs::read(&place).map_err(|error| wrong(error.to_string()))?;
        if body.len() > PAGE_BYTES_MAX {
            return Err(wrong(format!("the page has more than {PAGE_BYTES_MAX} bytes")));
        }
        Ok(StatusPage {
            status: *status,
            content_type: mime_type(file).into_owned().into(),
            body: body.into(),
        })
    };
    settings.error_pages.iter().map(read).collect()
}

fn sites_of_file(
    file: &adyton_cli::Sites,
    apps: &[Arc<dyn App>],
    (mut logs, mut guards): (SharedLogs, Guards),
) -> Result<Vec<Site>, Failure> {
    // As `open_folders` numbers them.
    let mut folders = 0..;
    let mut sites = Vec::new();
    for site in &file.sites {
        let mut routes = Vec::new();
        for route in &site.routes {
            let folder = if matches!(route.action, SiteAction::Files(_)) { folders.next() } else { None };
            let guard = guards.of(&route.settings)?;
            for path in &route.paths {
                routes.push((path.clone(), compiled(route, folder, apps, guard.clone())));
            }
        }
        let log = logs.of(&site.settings)?;
        let made = Site::new(site.hosts.clone(), Routes::new(routes), limits(&site.settings), log);
        sites.push(made.with_one_spelling().with_pages(pages(&site.settings)?));
    }
    Ok(sites)
}

/// A route of a file as the loops have it.
fn compiled(
    route: &SiteRoute,
    folder: Option<usize>,
    apps: &[Arc<dyn App>],
    guard: Option<Arc<Guard>>,
) -> Route {
    let (allow, deny) = (route.allow.clone(), route.deny.clone());
    let is_open = allow.is_empty() && deny.is_empty();
    let admission = Admission { allow, deny, replaces_password: route.allow_replaces_password };
    Route {
        when: if route.when == When::default() { None } else { Some(Box::new(route.when.clone())) },
        admission: if is_open { None } else { Some(Box::new(admission)) },
        guard,
        edits: if route.edits.is_empty() { None } else { Some(Arc::new(route.edits.clone())) },
        is_mounted: route.is_mounted,
        action: match &route.action {
            SiteAction::App(number) => Action::App(Arc::clone(&apps[*number])),
            SiteAction::Files(_) => Action::Files(folder.unwrap_or_default()),
            SiteAction::Redirect(status, location) => Action::Redirect(*status, location.clone()),
            SiteAction::Status(status) => Action::Page(ErrorPage::new(*status, "")),
            SiteAction::Text { status, content_type, body } => Action::Fixed(Fixed {
                status: *status,
                content_type: content_type.as_str().into(),
                body: body.as_bytes().into(),
            }),
        },
    }
}

/// What clients are asked for, each once for all routes that ask for the same.
struct Guards {
    /// What paths of files are relative to.
    base: Option<PathBuf>,
    opened: Vec<(GuardRules, Arc<Guard>)>,
}

impl Guards {
    /// What these settings ask clients for.
    fn of(&mut self, settings: &Settings) -> Result<Option<Arc<Guard>>, Failure> {
        let Some(auth) = &settings.auth else { return Ok(None) };
        let place = |path: &PathBuf| self.base.as_ref().map_or(path.clone(), |base| base.join(path));
        let rules = GuardRules {
            scheme: match auth {
                Auth::Basic(file) => Scheme::Basic(place(file)),
                Auth::Digest(file) => Scheme::Digest(place(file)),
            },
            realm: settings.auth_realm.clone(),
            users: settings.auth_users.clone(),
            groups: settings.auth_groups.clone(),
            group_file: settings.auth_group_file.as_ref().map(place),
        };
        if let Some((_, guard)) = self.opened.iter().find(|(other, _)| *other == rules) {
            return Ok(Some(Arc::clone(guard)));
        }
        let guard = Guard::open(rules.clone()).map_err(|error| Failure::Said(format!("auth: {error}"), 2))?;
        let guard = Arc::new(guard);
        self.opened.push((rules, Arc::clone(&guard)));
        Ok(Some(guard))
    }

    /// Tells which passwords are guessed quickly.
    fn tell_weak(&self) {
        for (rules, guard) in &self.opened {
            let (Scheme::Basic(file) | Scheme::Digest(file)) = &rules.scheme;
            for (line, user) in guard.weak() {
                let place = file.display();
                log::write(
                    &messages::WEAK_PASSWORD,
                    format_args!(
                        "{place}:{line}: the password of {user:?} is hashed with SHA-1, without salt"
                    ),
                );
            }
        }
    }
}

/// The access logs, each opened once for all sites that have it.
struct SharedLogs {
    /// The server's own, of which the supervisor writes what a worker leaves that dies.
    of_server: Option<Destination>,
    opened: Vec<(Destination, String, SharedLog)>,
}

impl SharedLogs {
    /// The log of these settings.
    fn of(&mut self, settings: &Settings) -> Result<Option<SharedLog>, Failure> {
        let Some(destination) = &settings.access_log else { return Ok(None) };
        let is_of_server = self.of_server.as_ref() == Some(destination);
        let destination = log_destination(settings, destination);
        let format = settings.access_log_format.atoms().unwrap_or("json");
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
        let log = if is_of_server { log } else { log.leaving_nothing() };
        let log = Arc::new(Mutex::new(log));
        self.opened.push((destination, format.to_owned(), Arc::clone(&log)));
        Ok(Some(log))
    }
}

fn limits(settings: &Settings) -> SiteLimits {
    SiteLimits {
        body_bytes_max: settings.body_bytes_max,
        body_memory_bytes_max: settings.body_memory_bytes_max,
        body_idle_timeout_ms: settings.body_idle_timeout_ms,
        body_rate: settings.body_rate_min_bytes_per_second,
        body_rate_grace_ms: settings.body_rate_grace_ms,
        write_idle_timeout_ms: settings.write_idle_timeout_ms,
        write_rate: settings.write_rate_min_bytes_per_second,
        write_rate_grace_ms: settings.write_rate_grace_ms,
        keep_alive_timeout_ms: settings.keep_alive_timeout_ms,
        keep_alive_requests_max: settings.keep_alive_requests_max,
        stream_body: settings.stream_body,
        call: CallLimits {
            silence_ms: settings.request_timeout_ms,
            total_ms: settings.request_total_timeout_ms,
        },
    }
}

/// Which fields of proxies are believed where none are named.
const USUAL_FIELDS: [&str; 2] = ["X-Forwarded-For", "X-Forwarded-Proto"];

/// Which proxies are believed.
fn trust(settings: &Settings) -> Option<Trust> {
    if settings.trusted_proxies.is_empty() {
        return None;
    }
    let mut trust = Trust::new(settings.trusted_proxies.clone());
    let named = settings.trusted_fields.iter().map(String::as_str);
    let usual = USUAL_FIELDS.into_iter().filter(|_| settings.trusted_fields.is_empty());
    for field in named.chain(usual) {
        let believed = trust.add_field(field);
        debug_assert_eq!(Ok(()), believed, "it was looked at when it was read");
    }
    Some(trust)
}

pub(super) fn config(settings: &Settings, descriptors_max: u64) -> Config {
    let count = |number: u64| usize::try_from(number).unwrap_or(usize::MAX);
    let connections_max = match settings.connections_max {
        0 => (descriptors_max - DESCRIPTORS_KEPT.min(descriptors_max / 2)).max(1),
        chosen => chosen,
    };
    Config {
        head: Limits {
            line_bytes_max: count(settings.request_line_bytes_max),
            field_bytes_max: count(settings.header_field_bytes_max),
            head_bytes_max: count(settings.header_bytes_max),
            fields_max: count(settings.header_fields_max),
        },
        request_id_field: settings.request_id_header.clone().unwrap_or_default().into_bytes(),
        logs_traces: settings.log_format == LogFormat::Json
            || settings.access_log.is_some() && settings.access_log_format == AccessLogFormat::Json,
        refuse_underscores: settings.underscore_headers == UnderscoreHeaders::Refuse,
        body_files: Quota::new(settings.body_files_bytes_max),
        temp_dir: settings.temp_dir.clone(),
        first_byte_timeout_ms: settings.first_byte_timeout_ms,
        head_timeout_ms: settings.header_timeout_ms,
        connections_max: count(connections_max),
        connections_per_address_max: u32::try_from(settings.connections_per_address_max).unwrap_or(u32::MAX),
        drain_bytes_max: settings.drain_bytes_max,
        linger_timeout_ms: settings.linger_timeout_ms,
        graceful_timeout_ms: settings.graceful_timeout_ms,
        threads: usize::try_from(settings.threads).unwrap_or(1),
        hand_over: match settings.hand_over {
            HandsOver::Auto => HandOver::Auto,
            HandsOver::Always => HandOver::Always,
            HandsOver::Never => HandOver::Never,
        },
        nice: settings.slow_nice,
        queue_max: count(settings.queue_limit),
        queue_timeout_ms: settings.queue_timeout_ms,
        crowded_timeout_ms: settings.crowded_timeout_ms,
        stream_body_threads_max: usize::try_from(settings.stream_body_threads_max).unwrap_or(usize::MAX),
        output_bytes_max: settings.output_bytes_max,
        trust: trust(settings),
        proxy_headers: settings.proxy_protocol,
        server: server_line(settings.server_header.as_deref().unwrap_or_default()),
    }
}

/// The line of the `Server` field; empty for an empty name.
fn server_line(name: &str) -> Vec<u8> {
    if name.is_empty() { Vec::new() } else { format!("Server: {name}\r\n").into_bytes() }
}
