//! CGI routes: the opened folder of scripts, and the environment of scripts.

use std::os::unix::ffi::OsStrExt as _;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use adyton_cli::{ScriptFolder, Settings, Site, SiteAction, SiteRoute, Sites, Target};
use adyton_files::Sources;
use adyton_files::programs::Programs;
use adyton_route::SCRIPT_ENDS;
use adyton_server::Cgi;

use super::failure::Failure;

/// `PATH` of scripts, unless their environment sets it.
const PATH: &str = "/usr/local/bin:/usr/bin:/bin";

/// Opens the folder of scripts of a route with these settings.
pub(super) fn open(scripts: &ScriptFolder, settings: &Settings) -> Result<Programs, Failure> {
    let folder = place(&scripts.folder, settings);
    let interpreters = scripts.interpreters.iter();
    let interpreters =
        interpreters.map(|(end, program)| (end.clone().into_bytes(), program.clone())).collect();
    Programs::open(&folder, settings.files.static_symlinks, interpreters).map_err(|error| {
        Failure::Said(format!("the scripts in {} cannot be run: {error}", folder.display()), 2)
    })
}

/// The scripts of a route with these settings, whose folder is open. Their environment has variables of this process,
/// which gets its own with the application.
pub(super) fn scripts(programs: Programs, scripts: &ScriptFolder, settings: &Settings) -> Arc<Cgi> {
    let root = scripts.root.as_deref().map(|root| place(root, settings));
    Arc::new(cgi(programs, root, settings))
}

/// The programs in the folder of a route whose folders have files run by their own settings; `root` is the folder of
/// the site.
pub(super) fn programs(folder: &Path, root: Option<&Path>, settings: &Settings) -> Result<Arc<Cgi>, Failure> {
    let folder = place(folder, settings);
    let wrong =
        |error| Failure::Said(format!("the scripts in {} cannot be run: {error}", folder.display()), 2);
    let programs = Programs::open(&folder, false, Vec::new()).map_err(wrong)?;
    Ok(Arc::new(cgi(programs, root.map(|root| place(root, settings)), settings)))
}

/// Programs that run as these settings say.
fn cgi(programs: Programs, root: Option<PathBuf>, settings: &Settings) -> Cgi {
    Cgi {
        programs,
        timeout_ms: settings.scripts.cgi_timeout_ms,
        memory_bytes_max: settings.scripts.cgi_memory_limit_bytes,
        user_processes_max: settings.scripts.cgi_user_processes_max,
        environment: environment(settings),
        root,
    }
}

/// The absolute path of a folder, whichever folder this process is in, and whichever a script starts in.
fn place(path: &Path, settings: &Settings) -> PathBuf {
    let path = settings.place(path);
    std::path::absolute(&path).unwrap_or(path)
}

/// Files that the routes of a site run, in whichever process: no folder of the site sends them.
pub(super) fn sources(sites: &Sites, site: &Site) -> Vec<Sources> {
    let of_route = |route: &SiteRoute| {
        let (folder, ends) = match &route.action {
            SiteAction::Cgi(scripts) => {
                let ends = scripts.interpreters.iter().map(|(end, _)| end.clone().into_bytes());
                (&scripts.folder, ends.collect())
            }
            SiteAction::App(number) => match &sites.apps[*number].target {
                Target::Scripts(scripts) => (&scripts.folder, SCRIPT_ENDS.map(<[u8]>::to_vec).to_vec()),
                _ => return None,
            },
            _ => return None,
        };
        Some(Sources { folder: place(folder, &route.settings), ends })
    };
    let mut found: Vec<Sources> = Vec::new();
    for sources in site.routes.iter().filter_map(of_route) {
        if !found.contains(&sources) {
            found.push(sources);
        }
    }
    found
}

/// The variables that scripts get besides the variables of a request; of two variables with one name, the last counts.
fn environment(settings: &Settings) -> Vec<(String, Vec<u8>)> {
    let mut all = vec![("PATH".to_owned(), PATH.as_bytes().to_vec())];
    for (name, value) in &settings.scripts.cgi_environment {
        all.retain(|(other, _)| other != name);
        let own = || std::env::var_os(name).map(|value| value.as_bytes().to_vec());
        if let Some(value) = value.as_ref().map(|value| value.as_bytes().to_vec()).or_else(own) {
            all.push((name.clone(), value));
        }
    }
    all
}
