//! What the settings become: the loops' configuration, folders, logs, the user; and what is wrong with them.

use std::path::PathBuf;
use std::sync::{Arc, Mutex};

use adyton_cli::{AccessLogFormat, HandOver as When, LogFormat, Settings, Target, UnderscoreHeaders};
use adyton_files::{CacheRoom, Folder, Options};
use adyton_http1::Limits;
use adyton_log::sink::Destination;
use adyton_log::{self as log, messages};
use adyton_route::{PathPattern, Routes};
use adyton_server::{
    AccessLog, Action, App, CallLimits, Config, HandOver, Plan, Quota, Route, Site, SiteLimits,
};
use adyton_sys::user::Identity;
use pyo3::prelude::*;

use super::failure::Failure;

/// Descriptors that are not connections: listeners, logs, the application's own, and static files kept open
/// (`adyton_files::OPEN_FILES_MAX`). Where few are allowed, half of them.
const DESCRIPTORS_KEPT: u64 = 64 + adyton_files::OPEN_FILES_MAX as u64;

/// Looks for what is wrong in settings that have no fault each by itself.
pub(super) fn check_settings(settings: &Settings) -> Result<(), Failure> {
    let format = settings.access_log_format.atoms().unwrap_or("json");
    AccessLog::check_format(format).map_err(|reason| Failure::Said(reason, 2))?;
    if let Some(destination) = &settings.access_log {
        check_destination("access", &log_destination(settings, destination))?;
    }
    identity(settings)?;
    open_folders(settings, &CacheRoom::new(0))?;
    for sentence in adyton_cli::absent_folders(settings) {
        log::write(&messages::FOLDER_ABSENT, format_args!("{sentence}"));
    }
    Ok(())
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

pub(super) fn access_log(settings: &Settings) -> Result<Option<AccessLog>, Failure> {
    let Some(destination) = &settings.access_log else { return Ok(None) };
    let format = settings.access_log_format.atoms().unwrap_or("json");
    let opened =
        AccessLog::open(&log_destination(settings, destination), format, log_queue_bytes_max(settings));
    opened.map(Some).map_err(|error| Failure::Said(error.to_string(), 2))
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
    let open = |(_, folder): (String, PathBuf)| {
        // Wherever this process is already.
        let folder = settings.chdir.as_ref().map_or(folder.clone(), |base| base.join(&folder));
        let options = Options {
            listing: settings.static_listing,
            cache_control: settings.static_cache_control.clone(),
            not_found_page: settings.static_404.clone(),
            spa_fallback: settings.static_fallback.clone(),
            fall_through: settings.static_fall_through,
            precompressed: settings.static_precompressed,
            follow_symlinks: settings.static_symlinks,
            cache_room: Arc::clone(cache_room),
            cache_file_bytes_max: settings.static_cache_file_bytes_max,
            ..Options::new(&folder)
        };
        Folder::open(options).map_err(|error| {
            Failure::Said(format!("the folder {} cannot be served: {error}", folder.display()), 2)
        })
    };
    folders(settings).into_iter().map(open).collect()
}

/// What a command line serves: one site, of folders by prefix and the application for all else.
pub(super) fn plan(
    settings: &Settings,
    app: Option<Arc<dyn App>>,
    access_log: Option<AccessLog>,
) -> Result<Plan, Failure> {
    let prefix = |path: String| PathPattern::Prefix(path.into_bytes().into());
    let folders = folders(settings).into_iter().enumerate();
    let mut routes: Vec<(PathPattern, Route)> =
        folders.map(|(folder, (path, _))| (prefix(path), Action::Files(folder).into())).collect();
    routes.extend(app.map(|app| (prefix(String::new()), Action::App(app).into())));
    let log = access_log.map(|log| Arc::new(Mutex::new(log)));
    let site = Site::new(Vec::new(), Routes::new(routes), limits(settings), log);
    Plan::new(vec![site]).map_err(|error| Failure::Said(error.to_string(), 2))
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
            When::Auto => HandOver::Auto,
            When::Always => HandOver::Always,
            When::Never => HandOver::Never,
        },
        nice: settings.slow_nice,
        queue_max: count(settings.queue_limit),
        queue_timeout_ms: settings.queue_timeout_ms,
        crowded_timeout_ms: settings.crowded_timeout_ms,
        stream_body_threads_max: usize::try_from(settings.stream_body_threads_max).unwrap_or(usize::MAX),
        output_bytes_max: settings.output_bytes_max,
        server: server_line(settings.server_header.as_deref().unwrap_or_default()),
    }
}

/// The line of the `Server` field; empty for an empty name.
fn server_line(name: &str) -> Vec<u8> {
    if name.is_empty() { Vec::new() } else { format!("Server: {name}\r\n").into_bytes() }
}
