//! Turns settings into the loops' configuration, folders, logs and users, and tells which sites and routes a process answers.

use std::borrow::Cow;
use std::ffi::OsString;
use std::fs;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use adyton_cli::{
    AccessLogFormat, Compress, Fault, HandOver as HandsOver, INDEX, LogFormat, Part, SaidAt, Settings,
    Site as CliSite, SiteAction, SiteRoute, Sites, Target, UnderscoreHeaders,
};
use adyton_compress::CODINGS;
use adyton_files::{CacheRoom, Compressing, Folder, Options, Sources, mime_type};
use adyton_http1::Limits;
use adyton_log as log;
use adyton_log::sink::Destination;
use adyton_route::HeadEdits;
use adyton_server::{BodyMemory, CallLimits, Config, HandOver, Quota, SiteLimits, StatusPage, Trust};
use adyton_sys::user::Identity;
use pyo3::prelude::*;

use super::authorities::{Named, Wanted};
use super::failure::Failure;
use super::run_files::RunFiles;
use super::scripts::sources;
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
pub(super) fn is_entered(sites: &Sites, site: &CliSite) -> bool {
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
pub(super) fn is_answered(sites: &Sites, route: &SiteRoute) -> bool {
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
pub(super) fn sent_folders(settings: &Settings) -> Vec<(&Path, &Settings)> {
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
pub(super) fn sends_alike(one: &Settings, other: &Settings) -> bool {
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

/// Each site for which this process answers something, with the files that it runs.
pub(super) fn sites_with_run_files(settings: &Settings) -> impl Iterator<Item = (&CliSite, RunFiles)> {
    entered(settings).map(|(sites, site)| (site, run_files_of(sites, site)))
}

/// The files that a site runs.
pub(super) fn run_files_of(sites: &Sites, site: &CliSite) -> RunFiles {
    RunFiles::of(sources(sites, site), file_folders(site))
}

/// Each folder of files of a site, with the settings of its route.
pub(super) fn file_folders(site: &CliSite) -> impl Iterator<Item = (PathBuf, &Settings)> {
    site.routes.iter().filter_map(|route| match &route.action {
        SiteAction::Files(folder) => Some((folder.clone(), &route.settings)),
        _ => None,
    })
}

/// The files that are run if a command line names the folders.
pub(super) fn run_files_alone(settings: &Settings) -> RunFiles {
    RunFiles::of(Vec::new(), folders(settings).into_iter().map(|(_, place)| (place, settings)))
}

/// Reads the error page for a status.
///
/// # Errors
///
/// The file is no page.
pub(super) fn page(settings: &Settings, status: u16, file: &Path) -> Result<StatusPage, Fault> {
    let named = format!("{status}={}", file.display());
    let wrong = |why: String| Fault {
        at: settings.said_at_value("error-pages", &named),
        what: format!("error-pages: {named}: {why}"),
    };
    let body = fs::read(settings.place(file)).map_err(|error| wrong(error.to_string()))?;
    if body.len() > PAGE_BYTES_MAX {
        return Err(wrong(format!("the page has more than {PAGE_BYTES_MAX} bytes")));
    }
    Ok(StatusPage { status, content_type: mime_type(file).into_owned().into(), body: body.into() })
}

pub(super) fn limits(settings: &Settings) -> SiteLimits {
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
