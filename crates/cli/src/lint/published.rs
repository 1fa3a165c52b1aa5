//! Secret files in folders that are served.

use std::path::{Path, PathBuf};

use adyton_log::sink::Destination;
use adyton_route::{PathPattern, When};

use crate::rows::access::Auth;
use crate::settings::said::{Fault, SaidAt};
use crate::settings::typed::{Settings, Site, SiteAction, SiteRoute, Sites};
use crate::sites::MATCHING;

/// A file that a setting names, and where it is named.
struct Kept {
    at: SaidAt,
    name: &'static str,
    /// The path as the setting names it.
    shown: PathBuf,
    /// The path where the file is.
    path: PathBuf,
}

/// Finds files of passwords and groups that clients could request.
pub(super) fn mistakes(sites: &Sites) -> Vec<Fault> {
    let folders = Folders::of(sites);
    let mut kept: Vec<Kept> = Vec::new();
    for settings in sites.routes().map(|route| &route.settings) {
        let secret = match &settings.access.auth {
            Some(Auth::Basic(path) | Auth::Digest(path)) => Some(("auth", path)),
            _ => None,
        };
        for (name, path) in secret
            .into_iter()
            .chain(settings.access.auth_group_file.iter().map(|path| ("auth-group-file", path)))
        {
            let at = settings.said_at(name);
            if !kept.iter().any(|one| one.name == name && one.at.is_same(&at)) {
                kept.push(Kept { at, name, shown: path.clone(), path: settings.place(path) });
            }
        }
    }
    let remedy = "keep it elsewhere, or give it a name that begins with a dot, as .htpasswd";
    kept.iter().filter_map(|one| folders.fault(one, remedy)).collect()
}

/// Finds logs, and the file of sites itself, that clients could request.
pub(super) fn warnings(settings: &Settings, sites: &Sites) -> Vec<Fault> {
    let folders = Folders::of(sites);
    let of_sites = sites.sites.iter().map(|site| &site.settings);
    let groups = sites.groups.iter().map(|group| &group.settings);
    let mut kept: Vec<Kept> = Vec::new();
    for settings in std::iter::once(settings).chain(of_sites).chain(groups) {
        for (name, log) in [
            ("access-log", settings.logging.access_log.as_ref()),
            ("error-log", Some(&settings.logging.error_log)),
        ] {
            let Some(Destination::File(path)) = log else { continue };
            let (shown, path) = (path.clone(), settings.place(path));
            if !kept.iter().any(|one| one.path == path) {
                kept.push(Kept { at: settings.said_at(name), name, shown, path });
            }
        }
    }
    let remedy = "keep it elsewhere, as in /var/log";
    let mut all: Vec<Fault> = kept.iter().filter_map(|one| folders.fault(one, remedy)).collect();
    let own = Kept {
        at: SaidAt::new(&sites.file, 1, 1),
        name: "this file",
        shown: sites.file.clone(),
        path: sites.place.clone(),
    };
    all.extend(folders.fault(&own, "keep it elsewhere, or have a route of that path answer 404"));
    all
}

/// The folders that are served, as they lie on the disk.
struct Folders<'s> {
    all: Vec<(PathBuf, &'s Site, usize)>,
}

impl Folders<'_> {
    fn of(sites: &Sites) -> Folders<'_> {
        const NEEDED: [&str; 5] = ["chdir", "deny-paths", "rewrite", "root", "routes"];
        let is_read = |site: &Site| {
            let is_known = |route: &SiteRoute| !route.settings.is_any_unread(&MATCHING);
            !site.settings.is_any_unread(&NEEDED) && site.routes.iter().all(is_known)
        };
        let mut all = Vec::new();
        for site in sites.sites.iter().filter(|site| is_read(site)) {
            for (number, route) in site.routes.iter().enumerate() {
                if let SiteAction::Files(folder) = &route.action
                    && let Ok(place) = route.settings.place(folder).canonicalize()
                {
                    all.push((place, site, number));
                }
            }
        }
        Folders { all }
    }

    /// Returns the fault, if a client can request a file.
    fn fault(&self, kept: &Kept, remedy: &str) -> Option<Fault> {
        let file = existing(&kept.path)?;
        let url = self
            .all
            .iter()
            .find_map(|(folder, site, route)| url(file.strip_prefix(folder).ok()?, site, *route))?;
        let Kept { at, name, shown, .. } = kept;
        let what = format!("{name}: {} lies in a folder that is served, as {url}; {remedy}", shown.display());
        Some(Fault { at: at.clone(), what })
    }
}

/// Returns where a file is, or will be.
fn existing(path: &Path) -> Option<PathBuf> {
    path.canonicalize().ok().or_else(|| {
        let folder = path.parent().filter(|folder| *folder != Path::new("")).unwrap_or(Path::new("."));
        Some(folder.canonicalize().ok()?.join(path.file_name()?))
    })
}

/// Returns the URL's path at which clients find a file beneath the folder of a route, if that route answers this path.
fn url(file: &Path, site: &Site, number: usize) -> Option<String> {
    if file.iter().any(|name| name.as_encoded_bytes().starts_with(b".")) {
        return None;
    }
    let own = site.routes[number].paths.iter().find_map(|path| match path {
        PathPattern::Prefix(prefix) => Some(String::from_utf8_lossy(prefix)),
        _ => None,
    })?;
    let url = format!("{own}/{}", file.to_str()?);
    if site.ahead.denied.find(url.as_bytes()).is_some() {
        return None;
    }
    let table = site.table();
    let mut tries = table.of(url.as_bytes());
    // A route that takes only some requests leaves the other requests to the next route.
    let (_, _, first) =
        tries.find(|(_, _, tried)| tried.number == number || tried.route.when == When::default())?;
    (first.number == number).then_some(url)
}
