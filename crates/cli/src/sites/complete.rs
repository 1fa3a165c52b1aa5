//! Makes the served sites of a file that was read: settings of sites and routes, applications, folders that exist.

use std::path::{Path, PathBuf};

use crate::command::target::{
    Scripts, Target, barred, did_you_mean, is_absent, look_for_page, missing_folder,
};
use crate::rows::ROWS;
use crate::rows::application::Interface;
use crate::rows::processes::Control;
use crate::settings::said::{SaidAt, Saying};
use crate::settings::typed::{
    AppTarget, Group, Mount, Part, RouteSaid, ScriptFolder, Settings, Site, SiteAction, SiteRoute, Sites,
};
use crate::sites::reading::document::{Document, Given, GroupTable, RouteTable, Said};
use crate::sites::reading::mistake::{Lines, Mistake};
use crate::sites::reading::rows::{ACTIONS, RouteDraft, SiteDraft};

/// Default of `redirect-status`.
pub(super) const REDIRECT_STATUS: u16 = 307;

/// Default of `content-type`.
const CONTENT_TYPE: &str = "text/plain; charset=utf-8";

/// Default of `scripts-index`.
const SCRIPTS_INDEX: &str = "index.py";

/// A file of sites as it was read.
pub(crate) struct ReadFile<'f> {
    /// The path as the user has written it.
    pub(crate) file: &'f Path,
    /// The absolute path.
    pub(crate) place: PathBuf,
    pub(crate) text: String,
    /// The part of it that this process serves.
    pub(crate) part: Part,
}

impl Document {
    /// Makes the sites of the file, beneath the settings of its server; returns them, and mistakes such as missing
    /// folders.
    pub(crate) fn complete(self, read: ReadFile<'_>, settings: &Settings) -> (Sites, Vec<Mistake>) {
        let ReadFile { file, place, text, part } = read;
        let base = settings.application.chdir.clone().unwrap_or_else(|| ".".into());
        let lines = Lines::new(&text);
        let at = |at: usize| lines.said_at(file, at);
        let groups: Vec<Group> = self.groups.iter().map(|group| self.group(group, settings, &at)).collect();
        let is_base_read = !settings.is_unread("chdir");
        let (apps, mistakes) = (Vec::new(), self.address_mistakes(&lines));
        let bound: Vec<Option<usize>> = self.sites.iter().map(|site| self.bound_group(site)).collect();
        let folders = groups.iter().map(|group| Some(group.chdir.clone().unwrap_or_else(|| base.clone())));
        let folders = folders.collect();
        let mut made = Maker {
            base,
            is_base_read,
            folders,
            part,
            groups: &groups,
            apps,
            mistakes,
            at: &at,
            of_pages: None,
            bound: None,
        };
        made.pythons(&self.groups);
        made.own_folders(&self.groups);
        let logs = if let Part::Group(number) = part { self.groups[number].logs() } else { Given::default() };
        let secrets = self.secrets();
        let mut sites = Vec::new();
        for (site, bound) in self.sites.into_iter().zip(bound) {
            let of_site = with(&with(settings, &site.given, &at), &logs, &at);
            let root = site.draft.root.clone().unwrap_or_default();
            made.of_pages = self.groups.iter().position(|group| match &site.draft.group {
                Some(name) => group.name == *name,
                None => group.draft.is_default,
            });
            made.bound = bound;
            let mut routes = Vec::new();
            for route in site.routes {
                let of_route = with(&of_site, &route.given, &at);
                let keys = route.keys.iter().map(|(key, place)| (*key, at(*place))).collect();
                let said = RouteSaid { table: at(route.at), keys };
                let line = lines.line(route.at);
                routes.extend(made.routes(route, &root, &of_route, line, &said));
            }
            let line = lines.line(site.at);
            let SiteDraft { hosts, root, ahead, .. } = site.draft;
            sites.push(Site { hosts, bound, root, ahead, routes, settings: of_site, line });
        }
        let Maker { apps, mistakes, .. } = made;
        (Sites { file: file.to_owned(), sites, apps, groups, part, text, secrets, place }, mistakes)
    }

    /// Returns the number of a group.
    pub(crate) fn group_named(&self, name: &str) -> Option<usize> {
        self.groups.iter().position(|group| group.name == name)
    }

    /// Returns the settings of the processes of a group.
    pub(crate) fn settings_of_group(&self, number: usize, settings: &Settings, at: At<'_>) -> Settings {
        let mut own = self.groups[number].settings(settings, at);
        // `[server]` has these; a group gets its own sockets from the supervisor, already open.
        own.listening.bind = Vec::new();
        own.processes.control = Control::Off;
        own.processes.admin = None;
        own.processes.touch_reload = None;
        own.processes.drain_delay_ms = 0;
        own
    }

    fn group(&self, group: &GroupTable, settings: &Settings, at: At<'_>) -> Group {
        let may_be_absent = group.given.of("min-processes").is_some_and(|said| said.texts().contains(&"0"));
        let idle_timeout_ms = group.draft.idle_timeout_ms.unwrap_or(IDLE_TIMEOUT_MS);
        let bound = self.first_bound(&group.name);
        Group {
            name: group.name.clone(),
            bind: bound.map(|site| site.draft.bind.clone()).unwrap_or_default(),
            bind_said_at: bound.map(|site| at(site.at("bind"))).unwrap_or_default(),
            python: group.draft.python.clone(),
            chdir: group.draft.chdir.as_ref().map(|folder| settings.place(folder)),
            idle_timeout_ms: may_be_absent.then_some(idle_timeout_ms),
            settings: group.settings(settings, at),
            fingerprint: self.fingerprint(group),
            line: at(group.at).line().unwrap_or_default(),
            said_at: at(group.at),
        }
    }
}

impl GroupTable {
    /// Returns the server's settings with the values of this table.
    fn settings(&self, server: &Settings, at: At<'_>) -> Settings {
        let mut own = with(server, &self.given, at);
        own.sayings.all.extend(self.sayings(at));
        own
    }

    /// Returns the values of `chdir` and `python` in this table, each with its place in the file.
    fn sayings(&self, at: At<'_>) -> impl Iterator<Item = Saying> {
        let said = [("chdir", self.draft.chdir.as_ref()), ("python", self.draft.python.as_ref())];
        let said = said.into_iter().filter_map(|(name, path)| Some((name, path?)));
        said.map(move |(name, path)| Saying {
            name,
            value: path.display().to_string(),
            at: at(self.at(name)),
        })
    }

    /// Returns the settings of the access log, which apply to all sites.
    fn logs(&self) -> Given {
        let is_log = |row: usize| ["access-log", "access-log-format"].contains(&ROWS[row].name);
        let said = self.given.said.iter().filter(|said| is_log(said.row)).cloned().collect();
        Given { said, unread: self.given.unread.clone() }
    }
}

/// The placeholder for an answer that was not understood, in a file that is refused.
const UNKNOWN: SiteAction = SiteAction::Status(404);

/// Default of `idle-timeout`.
const IDLE_TIMEOUT_MS: u64 = 5 * 60 * 1_000;

/// Returns the place of a byte of a file.
type At<'a> = &'a dyn Fn(usize) -> SaidAt;

/// Returns the settings around a table with the values of the table.
pub(super) fn with(around: &Settings, given: &Given, at: At<'_>) -> Settings {
    let names: Vec<&str> = given.said.iter().map(|said| ROWS[said.row].name).collect();
    let mut settings = around.for_table(&names);
    for said in &given.said {
        let row = &ROWS[said.row];
        for value in &said.values {
            // The value was applied to other settings before, and does not depend on them.
            let applied = row.apply(&mut settings, &value.text);
            debug_assert_eq!(Ok(()), applied);
        }
        settings.sayings.all.extend(sayings(said, at));
    }
    settings.sayings.unread.extend(&given.unread);
    settings.end_table(around, &names);
    settings
}

/// Returns the values of a setting in a table, with their places.
pub(crate) fn sayings<'s>(said: &'s Said, at: At<'s>) -> impl Iterator<Item = Saying> + 's {
    let name = ROWS[said.row].name;
    said.values.iter().map(move |value| Saying { name, value: value.text.clone(), at: at(value.place.start) })
}

/// Gathers the applications of a file, and its mistakes.
struct Maker<'g> {
    at: At<'g>,
    base: PathBuf,
    /// Whether `chdir` of the server, which `base` comes from, was understood.
    is_base_read: bool,
    /// The folder that each group's `app` is relative to; `None` if the group's `chdir` is wrong.
    folders: Vec<Option<PathBuf>>,
    part: Part,
    groups: &'g [Group],
    apps: Vec<AppTarget>,
    mistakes: Vec<Mistake>,
    /// The group of the site's applications whose routes name no group.
    of_pages: Option<usize>,
    /// The group at whose own addresses the site is found.
    bound: Option<usize>,
}

impl Maker<'_> {
    /// Whether this process looks at the files of a group, or at those of no group, on the disk: the user of another
    /// process may see more files.
    fn looks_at(&self, group: Option<usize>) -> bool {
        match self.part {
            Part::Whole => self.is_base_read,
            Part::Door => group.is_none(),
            Part::Group(own) => group == Some(own),
        }
    }

    /// Looks for the Pythons of groups.
    fn pythons(&mut self, tables: &[GroupTable]) {
        let is_looked_for = self.part == Part::Whole && self.is_base_read;
        for (group, table) in self.groups.iter().zip(tables).filter(|_| is_looked_for) {
            let Some(python) = &group.python else { continue };
            let place = self.base.join(python);
            if !place.is_file() {
                let shown = python.display();
                let what = match barred(&place) {
                    Some(why) => format!("python = {shown}: it cannot be looked at: {why}"),
                    None => {
                        format!("python = {shown}: there is no such file{}", did_you_mean(python, &self.base))
                    }
                };
                self.mistakes.push(Mistake { at: table.at("python"), what });
            }
        }
    }

    /// Checks that the `chdir` of each group is a folder, and notes a mistake where it is not.
    fn own_folders(&mut self, tables: &[GroupTable]) {
        let is_looked_for = self.part == Part::Whole && self.is_base_read;
        for (number, table) in tables.iter().enumerate().filter(|_| is_looked_for) {
            if self.groups[number].settings.is_unread("chdir") {
                self.folders[number] = None;
                continue;
            }
            let (Some(own), Some(place)) = (&table.draft.chdir, &self.folders[number]) else { continue };
            if !place.is_dir() {
                let what = missing_folder("chdir", own, &self.base);
                self.mistakes.push(Mistake { at: table.at("chdir"), what });
                self.folders[number] = None;
            }
        }
    }

    /// Returns the folder to which `app` is relative, for a route of this group or of no group; `None` if this process
    /// does not look for the application.
    fn begins(&self, group: Option<usize>) -> Option<&Path> {
        let base = group.map_or(Some(&self.base), |group| self.folders[group].as_ref());
        base.filter(|_| self.looks_at(group)).map(PathBuf::as_path)
    }

    /// Makes the routes of a table: one, or two if the table tries one action before another.
    fn routes(
        &mut self,
        table: RouteTable,
        root: &Path,
        settings: &Settings,
        line: usize,
        said: &RouteSaid,
    ) -> Vec<SiteRoute> {
        let RouteTable { mut draft, places, .. } = table;
        if draft.scripts.is_some() {
            draft.mount = Mount::Folder;
        }
        let mut settings = settings.clone();
        let mut actions = Vec::new();
        let wanted = draft.actions();
        let mut pages = None;
        if let Some(files) = draft.files.take() {
            pages = self.pages_of_folders(places.files, &root.join(&files), &settings);
            actions.extend(self.files(places.files, &root.join(files), &settings));
        }
        actions.extend(self.other(places.other, &mut draft, root, &settings));
        if actions.len() < wanted {
            settings.sayings.unread.extend(ACTIONS);
        }
        if actions.is_empty() {
            actions.push(UNKNOWN);
        }
        let route = |action: SiteAction| {
            let is_files = matches!(action, SiteAction::Files(_));
            let is_tried = !draft.tried.is_empty() && is_files;
            let pages = pages.filter(|_| is_files);
            let mut settings = settings.clone();
            settings.files.static_fall_through |= is_tried;
            SiteRoute {
                paths: draft.paths.clone(),
                when: draft.when.clone(),
                is_internal: draft.is_internal,
                mount: if pages.is_some() { Mount::Folder } else { draft.mount.clone() },
                action,
                pages,
                settings,
                line,
                said: said.clone(),
            }
        };
        actions.into_iter().map(route).collect()
    }

    /// Makes the action of a route that is not a folder of files; `None` if there is none, or it is wrong.
    fn other(
        &mut self,
        at: usize,
        draft: &mut RouteDraft,
        root: &Path,
        settings: &Settings,
    ) -> Option<SiteAction> {
        let named = |group: &Group| Some(&group.name) == draft.group.as_ref();
        let group = self.groups.iter().position(named);
        let is_root_read = !settings.is_unread("root");
        if let Some(app) = draft.app.take() {
            return self.app(at, app, settings, settings.application.interface, group);
        }
        if let Some(handler) = draft.handler.take() {
            return self.app(at, handler, settings, Interface::Handler, group);
        }
        if let Some(folder) = draft.scripts.take() {
            is_root_read.then_some(())?;
            let index = draft.scripts_index.take().unwrap_or_else(|| SCRIPTS_INDEX.to_owned());
            let scripts = Scripts {
                folder: root.join(folder),
                index,
                follow_symlinks: settings.files.static_symlinks,
                preload: std::mem::take(&mut draft.scripts_preload),
                is_asked_for: false,
            };
            return self.scripts(at, scripts, settings, group);
        }
        if draft.runs_programs() {
            is_root_read.then_some(())?;
            let interpreters = std::mem::take(&mut draft.interpreters);
            return self.cgi(at, root, draft.cgi.take(), interpreters, group);
        }
        if let Some(location) = draft.redirect.take() {
            return Some(SiteAction::Redirect(draft.redirect_status.unwrap_or(REDIRECT_STATUS), location));
        }
        let status = draft.respond?;
        Some(match draft.body.take() {
            Some(body) => SiteAction::Text {
                status,
                content_type: draft.content_type.take().unwrap_or_else(|| CONTENT_TYPE.to_owned()),
                body,
            },
            None => SiteAction::Status(status),
        })
    }

    fn app(
        &mut self,
        at: usize,
        text: String,
        settings: &Settings,
        interface: Interface,
        group: Option<usize>,
    ) -> Option<SiteAction> {
        let found =
            self.begins(group).map_or_else(|| Ok(Target::unseen(&text)), |base| Target::find(&text, base));
        let target = match found {
            Ok(Target::Folder(folder)) => {
                let what = format!("{} is a folder; files = serves one", folder.display());
                self.mistakes.push(Mistake { at, what });
                return None;
            }
            Ok(target) => target,
            Err(what) => {
                self.mistakes.push(Mistake { at, what });
                return None;
            }
        };
        if settings.is_any_unread(&["factory", "group", "interface"]) {
            // The keys that were not understood may say how the application is loaded.
            return None;
        }
        let (factory, said_at) = (settings.application.factory, (self.at)(at));
        Some(self.named(AppTarget { text, target, interface, factory, group, said_at }))
    }

    /// Returns the action of an application, which an earlier route may have named, too.
    fn named(&mut self, app: AppTarget) -> SiteAction {
        let known = self.apps.iter().position(|other| *other == app);
        SiteAction::App(known.unwrap_or_else(|| {
            self.apps.push(app);
            self.apps.len() - 1
        }))
    }

    /// Returns the action of a folder of scripts, which are one application to the rest of the server.
    fn scripts(
        &mut self,
        at: usize,
        mut scripts: Scripts,
        settings: &Settings,
        group: Option<usize>,
    ) -> Option<SiteAction> {
        if self.looks_at(group) {
            self.folder(at, &scripts.folder)?;
        }
        let text = scripts.folder.display().to_string();
        let preload = std::mem::take(&mut scripts.preload);
        let (interface, said_at) = (settings.application.interface, (self.at)(at));
        let target = Target::Scripts(scripts);
        let new = AppTarget { text, target, interface, factory: false, group, said_at };
        // Routes with the same folder share its pages, even if only one of the routes names scripts to be
        // loaded first.
        let number = self.apps.iter().position(|app| without_preload(app.clone()) == new);
        let number = number.unwrap_or_else(|| {
            self.apps.push(new);
            self.apps.len() - 1
        });
        if let Target::Scripts(known) = &mut self.apps[number].target {
            known.preload.extend(preload);
        }
        Some(SiteAction::App(number))
    }

    /// Returns the application of all pages in the folders of a route of files, if folders may have pages.
    fn pages_of_folders(&mut self, at: usize, folder: &Path, settings: &Settings) -> Option<usize> {
        if !settings.lets_folders_have_pages()
            || settings.is_any_unread(&["root", "may-set", "htaccess", "interface"])
        {
            return None;
        }
        if let Some(group) = self.of_pages.filter(|group| self.bound != Some(*group)) {
            let name = &self.groups[group].name;
            let what = format!(
                "files: may-set lets folders have scripts, which run in the processes that serve files, and applications of this \
                 site run in the group {name}; take \"scripts\" out, and write a route with scripts = and group = {name:?}"
            );
            self.mistakes.push(Mistake { at, what });
            return None;
        }
        let scripts = Scripts {
            folder: folder.to_owned(),
            index: SCRIPTS_INDEX.to_owned(),
            follow_symlinks: false,
            preload: Vec::new(),
            is_asked_for: true,
        };
        let (text, target) = (folder.display().to_string(), Target::Scripts(scripts));
        let (interface, said_at) = (settings.application.interface, (self.at)(at));
        let app = AppTarget { text, target, interface, factory: false, group: self.bound, said_at };
        if let SiteAction::App(number) = self.named(app) { Some(number) } else { None }
    }

    /// Returns the path of a folder, which need not exist yet; notes a mistake if it is anything else.
    fn folder(&mut self, at: usize, folder: &Path) -> Option<PathBuf> {
        let place = self.base.join(folder);
        if place.is_dir() || is_absent(&place) {
            return Some(place);
        }
        let shown = folder.display();
        let what = match barred(&place) {
            Some(why) => format!("{shown} cannot be looked at: {why}"),
            None => format!("{shown} is no folder{}", did_you_mean(folder, &self.base)),
        };
        self.mistakes.push(Mistake { at, what });
        None
    }

    fn cgi(
        &mut self,
        at: usize,
        root: &Path,
        folder: Option<PathBuf>,
        interpreters: Vec<(String, PathBuf)>,
        group: Option<usize>,
    ) -> Option<SiteAction> {
        let has_root = root != Path::new("");
        if folder.is_none() && !has_root {
            let what = "cgi: the folder of the scripts is missing; add folder = \"cgi-bin\", or give the site a root";
            self.mistakes.push(Mistake { at, what: what.to_owned() });
            return None;
        }
        let folder = folder.map_or_else(|| root.to_owned(), |folder| root.join(folder));
        let is_ours = self.looks_at(group);
        if is_ours {
            self.folder(at, &folder)?;
        }
        for (end, program) in interpreters.iter().filter(|_| is_ours) {
            if !program.is_file() {
                let what = format!("cgi: {}, which is to run *{end}, is no program", program.display());
                self.mistakes.push(Mistake { at, what });
                return None;
            }
        }
        let root = has_root.then(|| root.to_owned());
        Some(SiteAction::Cgi(ScriptFolder { folder, interpreters, root, group }))
    }

    fn files(&mut self, at: usize, folder: &Path, settings: &Settings) -> Option<SiteAction> {
        if settings.is_unread("root") {
            return None;
        }
        if !self.looks_at(None) {
            return Some(SiteAction::Files(folder.to_owned()));
        }
        let place = self.folder(at, folder)?;
        if settings.files.static_symlinks && settings.lets_folders_speak() {
            let what = "files: static-symlinks is on, and a link would lead around the settings of folders; turn it \
                        off, or leave out may-set and htaccess";
            self.mistakes.push(Mistake { at, what: what.to_owned() });
            return None;
        }
        let mut wrong = |what: String| self.mistakes.push(Mistake { at, what });
        for (name, page) in
            [("static-404", &settings.files.static_404), ("static-fallback", &settings.files.static_fallback)]
        {
            if let Some(page) = page
                && let Some(what) = look_for_page(name, page, std::slice::from_ref(&place))
            {
                wrong(what);
                return None;
            }
        }
        Some(SiteAction::Files(folder.to_owned()))
    }
}

/// Returns a copy of the application without the scripts to be loaded first.
fn without_preload(mut app: AppTarget) -> AppTarget {
    if let Target::Scripts(scripts) = &mut app.target {
        scripts.preload.clear();
    }
    app
}
