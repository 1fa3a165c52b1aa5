//! Faults of settings that are well-formed: files, folders, users, logs; all of them at once.

use std::path::PathBuf;

use adyton_cli::{Fault, Settings};
use adyton_log::sink::Destination;
use adyton_log::{self as log, messages};
use adyton_server::AccessLog;
use adyton_sys::process;

use super::failure::Failure;
use super::folders::PAGES_ALONE;
use super::prepared::{Prepared, prepare};
use super::run_files::RunFiles;
use super::settings::{
    file_folders, folders, identity, log_destination, of_sites, page, run_files_alone, sites_with_run_files,
};
use crate::serving::run::load::is_of_group;

/// Looks for faults in settings, and warns of doubtful settings. Returns the opened parts, with which a server serves.
pub(super) fn check_settings(settings: &Settings) -> Result<Prepared, Failure> {
    let (faults, prepared) = look(settings);
    if !faults.is_empty() {
        return Err(Failure::of(faults));
    }
    prepared.guards.tell_doubts();
    tell_doubts(settings);
    Ok(prepared)
}

/// Warns of doubtful settings, which may be intended; also if other settings have been refused.
pub(super) fn tell_doubts(settings: &Settings) {
    if is_of_group(settings) {
        return;
    }
    for doubt in adyton_cli::warnings(settings) {
        log::write(&messages::DOUBTFUL, format_args!("{doubt}"));
    }
    for doubt in run_pages(settings) {
        log::write(&messages::PAGE_IS_RUN, format_args!("{doubt}"));
    }
    for sentence in adyton_cli::absent_folders(settings) {
        log::write(&messages::FOLDER_ABSENT, format_args!("{sentence}"));
    }
}

/// Makes sure that the log can be written, before anything else begins; reports all other faults with a fault of the
/// log.
pub(super) fn check_log(settings: &Settings) -> Result<(), Failure> {
    match error_log(settings) {
        Some(fault) => {
            let (mut faults, _) = look(settings);
            faults.push(fault);
            Err(Failure::of(faults))
        }
        None => Ok(()),
    }
}

/// All faults of settings, also if some of the settings are already known to be wrong.
pub(crate) fn faults(settings: &Settings) -> Vec<Fault> {
    let (mut faults, _) = look(settings);
    faults.extend(error_log(settings));
    faults.sort_by(Fault::order);
    faults
}

fn look(settings: &Settings) -> (Vec<Fault>, Prepared) {
    let (prepared, mut faults) = prepare(settings);
    if settings.sites.is_none() {
        faults.extend(adyton_cli::mistakes_alone(settings));
        faults.extend(pages_alone(settings));
    }
    let each: Vec<&Settings> = std::iter::once(settings).chain(of_sites(settings)).collect();
    faults.extend(each.iter().flat_map(|of_site| access_log(of_site)));
    faults.extend(formats(settings));
    // Sites may set their own pages in the place of these.
    faults.extend(pages(settings));
    faults.extend(untrusted(settings));
    faults.extend(users(settings));
    // Several tables may get the same fault from one line of the file.
    let mut kept: Vec<Fault> = Vec::new();
    for fault in faults {
        if !kept.iter().any(|other| other.to_string() == fault.to_string()) {
            kept.push(fault);
        }
    }
    (kept, prepared)
}

/// Faults of the access log of a site.
fn access_log(of_site: &Settings) -> Vec<Fault> {
    let mut faults = Vec::new();
    let format = of_site.logging.access_log_format.atoms().unwrap_or("json");
    if let Err(what) = AccessLog::check_format(format) {
        faults.push(Fault { at: of_site.said_at("access-log-format"), what });
    }
    if let Some(destination) = &of_site.logging.access_log {
        let at = log_destination(of_site, destination);
        faults.extend(unwritable("access", of_site, &at));
    }
    faults
}

fn error_log(settings: &Settings) -> Option<Fault> {
    unwritable("error", settings, &log_destination(settings, &settings.logging.error_log))
}

fn unwritable(name: &str, settings: &Settings, destination: &Destination) -> Option<Fault> {
    let error = destination.check().err()?;
    let what = format!("cannot open the {name} log {destination}: {error}");
    Some(Fault { at: settings.said_at(&format!("{name}-log")), what })
}

/// Faults of sites that write one log in different formats.
fn formats(settings: &Settings) -> Vec<Fault> {
    let mut seen: Vec<(&Destination, &str)> = Vec::new();
    let mut faults = Vec::new();
    let is_read = |of_site: &&Settings| !of_site.is_unread("access-log-format");
    for of_site in of_sites(settings).filter(is_read) {
        let Some(destination) = &of_site.logging.access_log else { continue };
        let format = of_site.logging.access_log_format.atoms().unwrap_or("json");
        match seen.iter().find(|(other, _)| *other == destination) {
            Some((_, other)) if *other != format => {
                let what = format!("access-log-format: two sites write {destination} in different formats");
                faults.push(Fault { at: of_site.said_at("access-log-format"), what });
            }
            Some(_) => {}
            None => seen.push((destination, format)),
        }
    }
    faults
}

/// Faults of error pages that cannot be read, in the settings of a server whose sites a file names.
fn pages(settings: &Settings) -> Vec<Fault> {
    let all = settings.messages.error_pages.iter().filter(|_| settings.sites.is_some());
    all.filter_map(|(status, file)| page(settings, *status, file).err()).collect()
}

/// Faults of error pages whose files are run: the source text of a program must not be sent.
fn run_pages(settings: &Settings) -> Vec<Fault> {
    let mut found: Vec<Fault> = Vec::new();
    let mut add = |at, name: &str| {
        let what = format!("{name}: it is run, and its text is never sent; the answer is without it");
        let fault = Fault { at, what };
        if !found.contains(&fault) {
            found.push(fault);
        }
    };
    let mut look = |of_site: &Settings, folders: Vec<(PathBuf, &Settings)>, run_files: &RunFiles| {
        for (status, file) in
            of_site.messages.error_pages.iter().filter(|(_, file)| run_files.have(&of_site.place(file)))
        {
            let page = format!("{status}={}", file.display());
            add(of_site.said_at_value("error-pages", &page), &format!("error-pages: {page}"));
        }
        for (folder, settings) in folders {
            if let Some(page) = &settings.files.static_404
                && run_files.have(&settings.place(&folder).join(page))
            {
                add(settings.said_at("static-404"), &format!("static-404: {page}"));
            }
        }
    };
    for (site, run_files) in sites_with_run_files(settings) {
        look(&site.settings, file_folders(site).collect(), &run_files);
    }
    if settings.sites.is_none() {
        let folders = folders(settings).into_iter().map(|(_, folder)| (folder, settings));
        look(settings, folders.collect(), &run_files_alone(settings));
    }
    found
}

/// Faults of settings about proxies where no proxy is trusted.
fn untrusted(settings: &Settings) -> Vec<Fault> {
    let alone = [
        ("trusted-fields", !settings.listening.trusted_fields.is_empty()),
        ("proxy-protocol", settings.listening.proxy_protocol),
    ];
    let has_none = settings.listening.trusted_proxies.is_empty() && !settings.is_unread("trusted-proxies");
    let said = alone.into_iter().filter(|(_, is_said)| *is_said && has_none);
    let fault = |(name, _): (&str, bool)| Fault {
        at: settings.said_at(name),
        what: format!("{name}: it goes with trusted-proxies, which says which proxies are believed"),
    };
    said.map(fault).collect()
}

/// Fault of a setting that lets folders of a command line have Python pages.
fn pages_alone(settings: &Settings) -> Option<Fault> {
    let names = [("may-set", settings.files.may_set), ("htaccess", settings.files.htaccess)];
    let (name, _) = names.into_iter().find(|(_, may)| may.lets_have_pages())?;
    Some(Fault { at: settings.said_at(name), what: PAGES_ALONE.to_owned() })
}

/// Faults of users and groups that the system does not have.
fn users(settings: &Settings) -> Vec<Fault> {
    // A group goes with a user.
    let fault = |settings: &Settings| identity(settings).err().filter(|_| !settings.is_unread("user"));
    let mut faults: Vec<Fault> = fault(settings).into_iter().collect();
    if !is_of_group(settings) {
        let groups = settings.sites.iter().flat_map(|sites| &sites.groups);
        faults.extend(groups.filter_map(|group| fault(&group.settings)));
    }
    faults
}

/// Warns of processes that run the application as root, though they need not.
pub(super) fn warn_of_root(settings: &Settings, has_workers: bool) {
    if process::user() != 0 || is_of_group(settings) {
        return;
    }
    let stays = |settings: &Settings| {
        identity(settings).is_ok_and(|identity| identity.is_none_or(|identity| identity.user() == 0))
    };
    if !has_workers {
        let remedy = "start it as an ordinary user, or set --user and have workers (--processes), which become that user";
        log::write(&messages::AS_ROOT, format_args!("this process serves as root: {remedy}"));
        return;
    }
    let remedy = "set user (--user), as www-data: the workers become that user once the sockets are open";
    if stays(settings) {
        let at = settings.said_at("user");
        log::write(&messages::AS_ROOT, format_args!("{at}the workers serve as root: {remedy}"));
    }
    for group in settings.sites.iter().flat_map(|sites| &sites.groups) {
        if stays(&group.settings) {
            let (at, name) = (&group.said_at, &group.name);
            log::write(
                &messages::AS_ROOT,
                format_args!("{at}the workers of the group {name} serve as root: {remedy}"),
            );
        }
    }
}
