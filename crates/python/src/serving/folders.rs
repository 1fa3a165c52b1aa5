//! Settings that folders have in their `.adyton.toml` and `.htaccess`, in the form of the loops.

use std::io;
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, PoisonError, Weak};

use adyton_cli::{
    Auth, FolderRedirect, FolderSettings, MaySet, Settings, folder_loops, read_folder, read_htaccess,
};
use adyton_files::Sources;
use adyton_files::scripts::Scripts;
use adyton_import::{FolderLines, Import, import_folder};
use adyton_log::{self as log, messages};
use adyton_route::PathPattern;
use adyton_server::{
    App, FolderAnswer, FolderFile, FolderReader, FolderRules, Folders, Form, FormFiles, Guard, GuardRules,
    RunRules, Scheme,
};

use super::failure::Failure;
use super::folder_pages::{FolderPages, is_beneath};
use super::folder_runs::{apache, apache_indexes, indexes, own};
use super::scripts::programs;

/// The page that answers for its folder.
const PAGES_INDEX: &str = "index.py";

/// Name of the file to which `may-set` applies.
const OWN_NAME: &str = ".adyton.toml";

/// Message for a command line with pages. Pages are loaded like applications of a file's routes, beside other
/// applications, and a command line has at most one application.
pub(super) const PAGES_ALONE: &str = "may-set: scripts: Python pages of folders are an application beside \
    others, and a command line has one at most; write a file of sites, with may-set = [\"scripts\"] in the route of \
    the folder, and name that file in the place of the folder";

/// Parts of a site around the folders of a route.
#[derive(Clone, Copy, Default)]
pub(super) struct Beside<'s> {
    /// The folder of the site.
    pub(super) root: Option<&'s Path>,
    /// The application that serves all pages of these folders.
    pub(super) pages: Option<&'s Arc<dyn App>>,
}

/// A folder of files at the path of a route.
#[derive(Clone, Copy)]
pub(super) struct RouteFolder<'r> {
    pub(super) number: usize,
    pub(super) place: &'r Path,
    /// The path of the route.
    pub(super) url: &'r PathPattern,
    /// The settings of the route.
    pub(super) settings: &'r Settings,
}

/// Lets the folders of a route, which [`speaking`] has opened, have files run and name their indexes, if they may do
/// so.
pub(super) fn folders(
    mut folders: Folders,
    folder: RouteFolder<'_>,
    beside: Beside<'_>,
) -> Result<Folders, Failure> {
    let RouteFolder { place, url, settings, .. } = folder;
    let Beside { root, pages } = beside;
    if settings.lets_folders_have_pages() {
        let Some(app) = pages else {
            return Err(Failure::Said(PAGES_ALONE.to_owned(), 2));
        };
        let files = Scripts::open(place, false, PAGES_INDEX).map_err(|error| unserved(place, &error))?;
        folders = folders.with_pages(files, Arc::clone(app));
    }
    if settings.files.may_set.lets_name_indexes() || settings.files.htaccess.lets_name_indexes() {
        folders = folders.naming_indexes();
    }
    if !settings.lets_folders_run() {
        return Ok(folders);
    }
    // The folder of a route at `/` is the folder of its site.
    let root = root.or(if prefix_of(url).is_empty() { Some(place) } else { None });
    Ok(folders.running(programs(place, root, settings)?))
}

/// Opens the folder of a route and the folders in it; `None` if folders may set nothing. `sources` are files that
/// routes of the site run.
pub(super) fn speaking(folder: RouteFolder<'_>, sources: &[Sources]) -> Result<Option<Folders>, Failure> {
    let RouteFolder { number, place, url, settings } = folder;
    let names = [OWN_NAME.to_owned()].into_iter().chain(settings.names_of_htaccess()).collect();
    let own = FormFiles { form: Form::Own, names: vec![OWN_NAME.to_owned()] };
    let apache = FormFiles { form: Form::Htaccess, names: settings.names_of_htaccess() };
    let may = [(own, settings.files.may_set), (apache, settings.files.htaccess)];
    let forms: Vec<FormFiles> =
        may.into_iter().filter(|(_, may)| !may.is_empty()).map(|(files, _)| files).collect();
    if forms.is_empty() {
        return Ok(None);
    }
    check_links(settings).map_err(|why| Failure::Said(why, 2))?;
    let reader = Reader {
        may_set: settings.files.may_set,
        htaccess: settings.files.htaccess,
        names,
        interpreters: settings.scripts.cgi_interpreters.clone(),
        sources: sources.to_vec(),
        guards: Mutex::default(),
    };
    let folders = Folders::open(number, place, prefix_of(url), forms, Arc::new(reader));
    folders.map(Some).map_err(|error| unserved(place, &error))
}

/// The prefix of a route's path.
fn prefix_of(url: &PathPattern) -> &[u8] {
    if let PathPattern::Prefix(prefix) = url { prefix } else { &[] }
}

fn unserved(place: &Path, error: &io::Error) -> Failure {
    Failure::Said(format!("the folder {} cannot be served: {error}", place.display()), 2)
}

/// Refuses to follow links where folders may have settings: a link would lead around them.
pub(super) fn check_links(settings: &Settings) -> Result<(), String> {
    if settings.files.static_symlinks && settings.lets_folders_speak() {
        let what =
            "static-symlinks: a link would lead around what folders say; may-set and htaccess go without it";
        return Err(what.to_owned());
    }
    Ok(())
}

/// Reads the files of settings in the folders of a route.
struct Reader {
    may_set: MaySet,
    htaccess: MaySet,
    /// Names of all files that hold settings of folders.
    names: Vec<String>,
    /// Programs that folders may name to run files.
    interpreters: Vec<PathBuf>,
    /// Files that routes of the site run, so that they are no pages.
    sources: Vec<Sources>,
    /// Guards of folders: equal rules share a guard, and so the passwords that it has verified.
    guards: Mutex<Vec<(GuardRules, Weak<Guard>)>>,
}

impl FolderReader for Reader {
    fn read(&self, file: &FolderFile<'_>) -> Result<FolderRules, Vec<String>> {
        let path = file.folder.join(file.name);
        let at = |what: String| vec![format!("{}: {what}", path.display())];
        match file.form {
            Form::Own => {
                let said = read_folder(&path, file.text, self.may_set).map_err(|failure| {
                    std::iter::once(failure.message).chain(failure.more).collect::<Vec<_>>()
                })?;
                let runs = own(&said.runs, &self.interpreters).map_err(at)?;
                let mut rules = self.rules(file, &said, runs).map_err(at)?;
                self.pages(file)
                    .own(&said.settings.messages.error_pages, self.may_run(), &mut rules)
                    .map_err(at)?;
                let loops = folder_loops(&said.redirects, file.url);
                rules.indexes = said.runs.index.as_deref().map(indexes);
                rules.loops = loops.into_iter().map(|fault| fault.to_string()).collect();
                Ok(rules)
            }
            Form::Htaccess => {
                let Apache { said, runs, lines, losses } = read_apache(&path, file, self.htaccess)?;
                let mut rules = self.rules(file, &said, runs).map_err(at)?;
                let absent = self.pages(file).apache(&lines.documents, self.htaccess, &mut rules)?;
                let named = lines.indexes.as_ref().map(|said| apache_indexes(said, self.htaccess));
                rules.indexes = named.transpose().map_err(|what| vec![what])?;
                for loss in losses.iter().chain(&absent) {
                    log::write(&messages::FOLDER_LOST, format_args!("{loss}"));
                }
                Ok(rules)
            }
        }
    }
}

impl Reader {
    /// Whether folders may have files run.
    fn may_run(&self) -> bool {
        let runs = |may: MaySet| may.lets_run() || may.lets_have_pages();
        runs(self.may_set) || runs(self.htaccess)
    }

    /// The reader of a file's error pages.
    fn pages<'f>(&'f self, file: &'f FolderFile<'f>) -> FolderPages<'f> {
        FolderPages { file, names: &self.names, sources: &self.sources }
    }

    /// The rules of a file, without its pages.
    fn rules(
        &self,
        file: &FolderFile<'_>,
        said: &FolderSettings,
        runs: RunRules,
    ) -> Result<FolderRules, String> {
        let FolderSettings { settings, redirects, .. } = said;
        let admission = settings.admission();
        Ok(FolderRules {
            admission: (!admission.is_open()).then(|| Box::new(admission)),
            guard: self.guard(file, settings)?,
            edits: settings.head_edits(),
            runs,
            answers: redirects.iter().filter_map(|redirect| answer(file, redirect)).collect(),
            ..FolderRules::default()
        })
    }

    /// The guard of these settings.
    fn guard(&self, file: &FolderFile<'_>, settings: &Settings) -> Result<Option<Arc<Guard>>, String> {
        let Some(auth) = &settings.access.auth else { return Ok(None) };
        let rules = GuardRules {
            scheme: match auth {
                Auth::Basic(path) => Scheme::Basic(secret_file(file, path)?),
                Auth::Digest(path) => Scheme::Digest(secret_file(file, path)?),
                Auth::BasicPython(_) | Auth::DigestPython(_) => {
                    return Err(
                        "auth: no code runs because a folder says so; name a file of passwords".to_owned()
                    );
                }
            },
            realm: settings.access.auth_realm.clone(),
            users: settings.access.auth_users.clone(),
            groups: settings.access.auth_groups.clone(),
            group_file: settings
                .access
                .auth_group_file
                .as_ref()
                .map(|path| secret_file(file, path))
                .transpose()?,
            group_program: None,
            access_program: None,
            remember_ms: 0,
        };
        let mut guards = self.guards.lock().unwrap_or_else(PoisonError::into_inner);
        guards.retain(|(_, guard)| guard.strong_count() > 0);
        let known = guards.iter().find(|(other, _)| *other == rules).and_then(|(_, guard)| guard.upgrade());
        if let Some(guard) = known {
            return Ok(Some(guard));
        }
        let guard = Guard::open(rules.clone()).map_err(|error| format!("auth: {error}"))?;
        let guard = Arc::new(guard);
        guards.push((rules, Arc::downgrade(&guard)));
        Ok(Some(guard))
    }
}

/// The contents of an `.htaccess`.
struct Apache {
    said: FolderSettings,
    runs: RunRules,
    lines: FolderLines,
    /// Lines that are not carried over and keep nobody out, for the log.
    losses: Vec<String>,
}

/// Reads the lines that Apache would.
fn read_apache(path: &Path, file: &FolderFile<'_>, may: MaySet) -> Result<Apache, Vec<String>> {
    let name = path.display().to_string();
    let takes_handlers = may.lets_run() || may.lets_have_pages();
    let (made, lines) =
        import_folder(&name, file.text, takes_handlers).map_err(|mistake| vec![mistake.to_string()])?;
    let Import { text, losses } = made;
    let opens = losses.iter().filter(|loss| loss.opens).map(|loss| format!("restriction lost: {loss}"));
    let mistakes: Vec<String> = opens.collect();
    if !mistakes.is_empty() {
        return Err(mistakes);
    }
    let named =
        |mistakes: Vec<String>| mistakes.iter().map(|what| format!("{name}: {what}")).collect::<Vec<_>>();
    let said = read_htaccess(&text, may).map_err(named)?;
    let handlers = lines.handlers.as_ref();
    let runs = handlers.map(|handlers| apache(handlers, may)).transpose().map_err(named)?.unwrap_or_default();
    // Each file begins with the loss that its folder's place is unknown, but the server knows this place.
    let losses = losses.iter().filter(|loss| loss.what != ".htaccess").map(ToString::to_string);
    let losses = losses.collect();
    Ok(Apache { said, runs, lines, losses })
}

/// The answer to paths beneath the folder. Paths in an `.htaccess` are those of the site.
fn answer(file: &FolderFile<'_>, redirect: &FolderRedirect) -> Option<(PathPattern, FolderAnswer)> {
    let FolderRedirect { path, status, to, .. } = redirect.clone();
    let rest = |path: &[u8]| match path.strip_prefix(file.url) {
        Some(rest) if rest.is_empty() || rest.starts_with(b"/") => Some(Box::from(rest)),
        _ => None,
    };
    let path = match (file.form, path) {
        (Form::Htaccess, PathPattern::Exact(path)) => PathPattern::Exact(rest(&path)?),
        (Form::Htaccess, PathPattern::Prefix(path)) => match rest(&path) {
            Some(rest) => PathPattern::Prefix(rest),
            // The pattern covers all of the folder; the part that it would put into a target is not known here.
            None if PathPattern::Prefix(path).matches(file.url) => PathPattern::Prefix(Box::default()),
            None => return None,
        },
        (_, path) => path,
    };
    Some((path, to.map_or(FolderAnswer::Status(status), |to| FolderAnswer::Redirect(status, to))))
}

/// Place of a file of passwords. If a folder's own settings name the file, it must lie in the folder, and its name must
/// begin with a dot, so that it is never served.
fn secret_file(file: &FolderFile<'_>, path: &Path) -> Result<PathBuf, String> {
    let shown = path.display();
    let is_own = file.form == Form::Own;
    if is_own && !is_beneath(path) {
        return Err(format!("{shown}: a file of passwords lies in the folder or beneath it"));
    }
    if !is_own && !path.is_absolute() {
        return Err(format!("{shown}: write the absolute path of a file of passwords"));
    }
    let place = file.folder.join(path);
    let found = place.canonicalize().map_err(|error| format!("{shown} cannot be read: {error}"))?;
    let within = |folder: &Path| {
        folder.canonicalize().ok().and_then(|folder| found.strip_prefix(folder).ok().map(Path::to_owned))
    };
    if is_own && within(file.folder).is_none() {
        return Err(format!("{shown}: it leads out of the folder"));
    }
    // A `.well-known` at the top is served.
    let is_hidden = |beneath: PathBuf| {
        let mut names = beneath.iter().enumerate();
        names.any(|(at, name)| name.as_encoded_bytes().starts_with(b".") && (at > 0 || name != ".well-known"))
    };
    if within(file.root).is_some_and(|beneath| !is_hidden(beneath)) {
        return Err(format!(
            "{shown}: it would be served; give it a name that begins with a dot, as .htpasswd"
        ));
    }
    Ok(found)
}
