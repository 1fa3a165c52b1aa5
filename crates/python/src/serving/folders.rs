//! What folders say in their `.adyton.toml` and `.htaccess`, as the loops have it.

use std::fs::File;
use std::io::{self, Read as _};
use std::path::{Component, Path, PathBuf};
use std::sync::{Arc, Mutex, PoisonError, Weak};

use adyton_cli::{
    Auth, FolderRedirect, FolderSettings, MaySet, Settings, folder_loops, read_folder, read_htaccess,
};
use adyton_files::path::is_published;
use adyton_files::runs::is_shown;
use adyton_files::scripts::Scripts;
use adyton_files::{Sources, mime_type};
use adyton_import::{Import, Kind, import, import_folder};
use adyton_log::{self as log, messages};
use adyton_route::PathPattern;
use adyton_server::{
    App, Authorities, FolderAnswer, FolderFile, FolderPage, FolderReader, FolderRules, Folders, Form, Guard,
    GuardRules, RunRules, Scheme, StatusPage,
};
use adyton_sys::fs::open_regular;

use super::failure::Failure;
use super::folder_runs::{apache, own};
use super::scripts::programs;

/// The page that answers for its folder.
const PAGES_INDEX: &str = "index.py";

/// Pages are loaded as applications of a file's routes are, beside others. A command line has one application, or none.
pub(super) const PAGES_ALONE: &str = "may-set: scripts: Python pages of folders are an application beside \
    others, and a command line has one at most; write a file of sites, with may-set = [\"scripts\"] in the route of \
    the folder, and name that file in the place of the folder";

/// A page for an error is kept in memory.
const PAGE_BYTES_MAX: u64 = 64 << 10;

/// Parts of a site around the folders of a route.
#[derive(Clone, Copy, Default)]
pub(super) struct Beside<'s> {
    /// Its folder.
    pub(super) root: Option<&'s Path>,
    /// The application that is all pages of these folders.
    pub(super) pages: Option<&'s Arc<dyn App>>,
    /// Files that its routes run.
    pub(super) sources: &'s [Sources],
}

/// The folders beneath `place`, which is the folder with this number, for a route with these settings; nothing, if they may say
/// nothing. `url` is the path of the route.
pub(super) fn folders(
    (number, place): (usize, &Path),
    url: &PathPattern,
    (settings, beside): (&Settings, Beside<'_>),
) -> Result<Option<Folders>, Failure> {
    let Beside { root, pages, sources } = beside;
    let Some(mut folders) = speaking((number, place), url, (settings, sources))? else { return Ok(None) };
    if settings.lets_folders_have_pages() {
        let Some(app) = pages else {
            return Err(Failure::Said(PAGES_ALONE.to_owned(), 2));
        };
        let files = Scripts::open(place, false, PAGES_INDEX).map_err(|error| unserved(place, &error))?;
        folders = folders.with_pages(files, Arc::clone(app));
    }
    if !settings.lets_folders_run() {
        return Ok(Some(folders));
    }
    // A folder at the top is that of its site.
    let root = root.or(if prefix_of(url).is_empty() { Some(place) } else { None });
    Ok(Some(folders.running(programs(place, root, settings)?)))
}

/// The folders beneath `place` with what they say, as [`folders`] has them, of which none has files run yet. `sources` are files
/// that routes of the site run.
pub(super) fn speaking(
    (number, place): (usize, &Path),
    url: &PathPattern,
    (settings, sources): (&Settings, &[Sources]),
) -> Result<Option<Folders>, Failure> {
    let may = [(Form::Own, settings.may_set), (Form::Htaccess, settings.htaccess)];
    let forms: Vec<Form> = may.iter().filter(|(_, may)| !may.is_empty()).map(|(form, _)| *form).collect();
    if forms.is_empty() {
        return Ok(None);
    }
    check_links(settings).map_err(|why| Failure::Said(why, 2))?;
    let reader = Reader {
        may_set: settings.may_set,
        htaccess: settings.htaccess,
        interpreters: settings.cgi_interpreters.clone(),
        sources: sources.to_vec(),
        guards: Mutex::default(),
    };
    let folders = Folders::open((number, place), prefix_of(url), forms, Arc::new(reader));
    folders.map(Some).map_err(|error| unserved(place, &error))
}

/// The path of a route for all that is beneath it.
fn prefix_of(url: &PathPattern) -> &[u8] {
    if let PathPattern::Prefix(prefix) = url { prefix } else { &[] }
}

fn unserved(place: &Path, error: &io::Error) -> Failure {
    Failure::Said(format!("the folder {} cannot be served: {error}", place.display()), 2)
}

/// Whether links are followed where folders may speak, so that one would lead around what they say.
pub(super) fn check_links(settings: &Settings) -> Result<(), String> {
    if settings.static_symlinks && settings.lets_folders_speak() {
        let what =
            "static-symlinks: a link would lead around what folders say; may-set and htaccess go without it";
        return Err(what.to_owned());
    }
    Ok(())
}

/// What reads the files of the folders of a route.
struct Reader {
    may_set: MaySet,
    htaccess: MaySet,
    /// Programs that folders may have run others.
    interpreters: Vec<PathBuf>,
    /// Files that routes of the site run, and that are no pages.
    sources: Vec<Sources>,
    /// Guards that folders have, so that two that ask for the same have one, and remember what they have verified.
    guards: Mutex<Vec<(GuardRules, Weak<Guard>)>>,
}

impl FolderReader for Reader {
    fn read(&self, file: &FolderFile<'_>) -> Result<FolderRules, Vec<String>> {
        let path = file.folder.join(file.form.name());
        let at = |what: String| vec![format!("{}: {what}", path.display())];
        let said = match file.form {
            Form::Own => {
                let said = read_folder(&path, file.text, self.may_set).map_err(|failure| {
                    std::iter::once(failure.message).chain(failure.more).collect::<Vec<_>>()
                })?;
                let runs = own(&said.runs, &self.interpreters).map_err(at)?;
                (said, runs)
            }
            Form::Htaccess => read_apache(&path, file, self.htaccess)?,
        };
        self.rules(file, said).map_err(at)
    }
}

impl Reader {
    /// Whether folders may say that files are run.
    fn may_run(&self) -> bool {
        let runs = |may: MaySet| may.lets_run() || may.lets_have_pages();
        runs(self.may_set) || runs(self.htaccess)
    }

    fn rules(
        &self,
        file: &FolderFile<'_>,
        (said, runs): (FolderSettings, RunRules),
    ) -> Result<FolderRules, String> {
        let FolderSettings { settings, redirects, .. } = said;
        let admission = settings.admission();
        let mut rules = FolderRules {
            admission: (!admission.is_open()).then(|| Box::new(admission)),
            guard: self.guard(file, &settings)?,
            edits: settings.head_edits(),
            runs,
            ..FolderRules::default()
        };
        for (status, page) in &settings.error_pages {
            let place = file.folder.join(page);
            // In a folder above it programs may be run, of which no page is to be the text.
            if self.may_run() && !page.file_name().is_some_and(|name| is_shown(name.as_encoded_bytes())) {
                return Err(format!(
                    "error-pages: {status}={}: no such file is sent where folders may have files run; name \
                                    it as page.html",
                    page.display()
                ));
            }
            let read = read_page(*status, page, &place)?;
            if Sources::have(&self.sources, &std::path::absolute(&place).unwrap_or_else(|_| place.clone())) {
                log::write(
                    &messages::PAGE_IS_RUN,
                    format_args!(
                        "{}: it is run, and its text is never sent; the answer is without it",
                        place.display()
                    ),
                );
            } else {
                rules.pages.push(FolderPage { page: read, path: page.as_os_str().as_encoded_bytes().into() });
            }
            rules.others.push(place);
        }
        let loops = folder_loops(&redirects, file.url).into_iter().filter(|_| file.form == Form::Own);
        rules.loops = loops.map(|fault| fault.to_string()).collect();
        rules.answers = redirects.into_iter().filter_map(|redirect| answer(file, redirect)).collect();
        Ok(rules)
    }

    /// What these settings ask clients for.
    fn guard(&self, file: &FolderFile<'_>, settings: &Settings) -> Result<Option<Arc<Guard>>, String> {
        let Some(auth) = &settings.auth else { return Ok(None) };
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
            realm: settings.auth_realm.clone(),
            users: settings.auth_users.clone(),
            groups: settings.auth_groups.clone(),
            group_file: settings.auth_group_file.as_ref().map(|path| secret_file(file, path)).transpose()?,
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
        let guard =
            Guard::open(rules.clone(), Authorities::default()).map_err(|error| format!("auth: {error}"))?;
        let guard = Arc::new(guard);
        guards.push((rules, Arc::downgrade(&guard)));
        Ok(Some(guard))
    }
}

/// Reads what Apache would.
fn read_apache(
    path: &Path,
    file: &FolderFile<'_>,
    may: MaySet,
) -> Result<(FolderSettings, RunRules), Vec<String>> {
    let name = path.display().to_string();
    let (made, handlers) = if may.lets_run() || may.lets_have_pages() {
        import_folder(&name, file.text).map(|(made, handlers)| (made, Some(handlers)))
    } else {
        let mut include = |_: &str| Err("a folder's file includes no other".to_owned());
        import(Kind::Apache, &name, file.text, &mut include).map(|made| (made, None))
    }
    .map_err(|mistake| vec![mistake.to_string()])?;
    let Import { text, losses } = made;
    let opens = losses.iter().filter(|loss| loss.opens).map(|loss| format!("restriction lost: {loss}"));
    let mistakes: Vec<String> = opens.collect();
    if !mistakes.is_empty() {
        return Err(mistakes);
    }
    let named =
        |mistakes: Vec<String>| mistakes.iter().map(|what| format!("{name}: {what}")).collect::<Vec<_>>();
    let said = read_htaccess(&text, may).map_err(named)?;
    let runs =
        handlers.map(|handlers| apache(&handlers, may)).transpose().map_err(named)?.unwrap_or_default();
    // That one is told of each file: where the folder is, is known here.
    for loss in losses.iter().filter(|loss| loss.what != Form::Htaccess.name()) {
        log::write(&messages::FOLDER_LOST, format_args!("{loss}"));
    }
    Ok((said, runs))
}

/// What answers paths beneath the folder. Apache's are those of the site.
fn answer(file: &FolderFile<'_>, redirect: FolderRedirect) -> Option<(PathPattern, FolderAnswer)> {
    let FolderRedirect { path, status, to, .. } = redirect;
    let rest = |path: &[u8]| match path.strip_prefix(file.url) {
        Some(rest) if rest.is_empty() || rest.starts_with(b"/") => Some(Box::from(rest)),
        _ => None,
    };
    let path = match (file.form, path) {
        (Form::Htaccess, PathPattern::Exact(path)) => PathPattern::Exact(rest(&path)?),
        (Form::Htaccess, PathPattern::Prefix(path)) => match rest(&path) {
            Some(rest) => PathPattern::Prefix(rest),
            // All of the folder is beneath it; what it would put into a target is not known here.
            None if PathPattern::Prefix(path).matches(file.url) => PathPattern::Prefix(Box::default()),
            None => return None,
        },
        (_, path) => path,
    };
    Some((path, to.map_or(FolderAnswer::Status(status), |to| FolderAnswer::Redirect(status, to))))
}

/// Where a file of passwords is. One that a folder names itself lies in it, and is never served, for its name begins with a dot.
fn secret_file(file: &FolderFile<'_>, path: &Path) -> Result<PathBuf, String> {
    let shown = path.display();
    let is_own = file.form == Form::Own;
    if is_own && !is_beneath(path) {
        return Err(format!("{shown}: a file of passwords lies in the folder or beneath it"));
    }
    if !is_own && !path.is_absolute() {
        return Err(format!("{shown}: write the path of a file of passwords from the top"));
    }
    let place = file.folder.join(path);
    let found = place.canonicalize().map_err(|error| format!("{shown} cannot be read: {error}"))?;
    let within = |folder: &Path| {
        folder.canonicalize().ok().and_then(|folder| found.strip_prefix(folder).ok().map(Path::to_owned))
    };
    if is_own && within(file.folder).is_none() {
        return Err(format!("{shown}: it leads out of the folder"));
    }
    // `.well-known` at the top is served.
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

/// Whether a path leads down, and nowhere else.
fn is_beneath(path: &Path) -> bool {
    path.components().all(|part| matches!(part, Component::Normal(_)))
}

/// Reads a page for a status, which could be asked for as well.
fn read_page(status: u16, page: &Path, place: &Path) -> Result<StatusPage, String> {
    let wrong = |why: &str| format!("error-pages: {status}={}: {why}", page.display());
    let is_shown = page.iter().all(|name| is_published(name.as_encoded_bytes()));
    if !is_beneath(page) || !is_shown {
        return Err(wrong("a page is a file in the folder or beneath it that could be asked for"));
    }
    let is_link = |path: &Path| path.symlink_metadata().is_ok_and(|meta| meta.is_symlink());
    let depth = page.components().count();
    if place.ancestors().take(depth).any(is_link) {
        return Err(wrong("symbolic links are not followed"));
    }
    let opened = open_regular(place).map_err(|error| wrong(&error.to_string()))?;
    let (opened, _) = opened.ok_or_else(|| wrong("it is no regular file"))?;
    let mut body = Vec::new();
    File::from(opened)
        .take(PAGE_BYTES_MAX + 1)
        .read_to_end(&mut body)
        .map_err(|error| wrong(&error.to_string()))?;
    if body.len() as u64 > PAGE_BYTES_MAX {
        return Err(wrong(&format!("the page has more than {PAGE_BYTES_MAX} bytes")));
    }
    Ok(StatusPage { status, content_type: mime_type(page).into_owned().into(), body: body.into() })
}
