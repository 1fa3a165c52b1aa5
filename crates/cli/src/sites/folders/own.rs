//! A folder's own settings: an `.adyton.toml`, or an `.htaccess` that was read by the importer.

use std::path::Path;

use adyton_route::{Location, PathPattern, When};
use toml::Spanned;
use toml::de::{DeTable, DeValue};

use crate::command::failure::Failure;
use crate::lint::mistakes_of_folder;
use crate::rows::ROWS;
use crate::settings::may_set::MaySet;
use crate::settings::row::{Kind, Row};
use crate::settings::said::SaidAt;
use crate::settings::typed::Settings;
use crate::sites::complete::{REDIRECT_STATUS, with};
use crate::sites::folders::runs::{FOLDER_ROWS, FolderRuns};
use crate::sites::reading::document::{Document, Given, Reader, RouteTable, Said, read};
use crate::sites::reading::keys::{FOLDER, Keys, Place};
use crate::sites::reading::mistake::{Lines, failure};
use crate::sites::reading::path;
use crate::sites::reading::rows::RouteDraft;

/// Settings from a file in the folder itself.
#[derive(Clone, Debug)]
pub struct FolderSettings {
    /// The folder's own settings, without those around it.
    pub settings: Settings,
    /// Paths beneath the folder that a redirect or a status answers instead of a file.
    pub redirects: Vec<FolderRedirect>,
    /// Settings that say which of its files are run, and which answer for it.
    pub runs: FolderRuns,
}

/// Paths that are redirected, or answered with a status, in the place of a file.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct FolderRedirect {
    /// In an `.adyton.toml`, beneath the folder; in an `.htaccess`, of the site.
    pub path: PathPattern,
    /// The status.
    pub status: u16,
    /// The target of the redirect; `None`: the server's page for the status answers.
    pub to: Option<Location>,
    /// The place of the redirect, in an `.adyton.toml`.
    pub at: SaidAt,
}

/// A table `[[redirects]]`.
#[derive(Clone, Debug, Default)]
pub(crate) struct RedirectDraft {
    path: Option<PathPattern>,
    to: Option<Location>,
    status: Option<u16>,
}

const REDIRECT: Row<RedirectDraft> = Row { group: "Folders: redirects", ..Row::EMPTY };

/// The keys of `[[redirects]]`.
pub(crate) static REDIRECT_ROWS: &[Row<RedirectDraft>] = &[
    Row {
        name: "path",
        kind: Kind::Form {
            shape: "PATH",
            set: |redirect, text| beneath(text).map(|path| redirect.path = Some(path)),
        },
        example: "old.html",
        help: "paths beneath the folder that are sent elsewhere",
        detail: "`old.html` stands for that path alone, `old/` for all beneath it, too, and `*.php` for all paths with \
                 that suffix.",
        ..REDIRECT
    },
    Row {
        name: "redirect",
        kind: Kind::Form {
            shape: "URL",
            set: |redirect, text| Location::read(text).map(|to| redirect.to = Some(to)),
        },
        example: "/new.html",
        help: "where clients are sent",
        detail: "As in a route; `{rest}` is the part of the path behind `path`.",
        ..REDIRECT
    },
    Row {
        name: "redirect-status",
        kind: Kind::Choice {
            words: &["301", "302", "303", "307", "308"],
            set: |redirect, index| redirect.status = Some([301, 302, 303, 307, 308][index]),
        },
        default: "307",
        example: "308",
        help: "status of the redirect",
        detail: "As in a route.",
        ..REDIRECT
    },
];

/// Reads an `.adyton.toml` in which the words of `may` are allowed.
///
/// # Errors
///
/// All mistakes in it, each on a line of its own with file, line and column.
pub fn read_folder(file: &Path, text: &str, may: MaySet) -> Result<FolderSettings, Failure> {
    let (folder, mistakes) = read(file, text, |reader, table| reader.folder(file, table, may))?;
    if mistakes.is_empty() { Ok(folder) } else { Err(failure(file, &Lines::new(text), mistakes)) }
}

/// Reads a file of sites that the importer has made of an `.htaccess`, in which the words of `may` are allowed.
///
/// # Errors
///
/// Sentences, without a full stop, about everything that a folder cannot set, or is not allowed to set.
pub fn read_htaccess(text: &str, may: MaySet) -> Result<FolderSettings, Vec<String>> {
    let file = Path::new(".htaccess");
    let sentences =
        |failure: Failure| std::iter::once(failure.message).chain(failure.more).collect::<Vec<_>>();
    let (document, wrong) = Document::read(file, text).map_err(sentences)?;
    if !wrong.is_empty() {
        return Err(sentences(failure(file, &Lines::new(text), wrong)));
    }
    let mut mistakes = Vec::new();
    let mut folder =
        FolderSettings { settings: unsaid(), redirects: Vec::new(), runs: FolderRuns::default() };
    let mut sites = document.sites.into_iter();
    let (Some(site), None, true) = (sites.next(), sites.next(), document.groups.is_empty()) else {
        return Err(vec!["it has more than a folder can set".to_owned()]);
    };
    let said = [document.server.said, site.given.said].concat();
    let mut given = Given { said: allowed(said, may, &mut mistakes), unread: Vec::new() };
    for route in site.routes {
        imported(route, &mut folder, &mut given, may, &mut mistakes);
    }
    folder.settings = with(&unsaid(), &given, &|_| SaidAt::default());
    mistakes
        .extend(mistakes_of_folder(&folder.settings).into_iter().map(|(name, why)| format!("{name}: {why}")));
    if mistakes.is_empty() { Ok(folder) } else { Err(mistakes) }
}

/// Takes over a route that the importer has made of an `.htaccess`.
fn imported(
    route: RouteTable,
    folder: &mut FolderSettings,
    given: &mut Given,
    may: MaySet,
    mistakes: &mut Vec<String>,
) {
    let RouteTable { draft, given: own, .. } = route;
    let names = || draft.paths.iter().map(path::written).collect::<Vec<_>>().join(", ");
    let is_everything = draft.paths == [PathPattern::Prefix(Box::default())];
    let RouteDraft { when, redirect, redirect_status, respond, body, app, handler, .. } = &draft;
    if *when != When::default() || body.is_some() || app.is_some() || handler.is_some() {
        mistakes.push(format!("{}: what it says of methods or programs cannot be carried over", names()));
    } else if draft.files.is_some() && is_everything {
        // Only the site decides about lists of files.
        let own = own.said.into_iter().filter(|said| !ROWS[said.row].name.starts_with("static-")).collect();
        given.said.extend(allowed(own, may, mistakes));
    } else if draft.files.is_some() || !own.said.is_empty() {
        mistakes
            .push(format!("{}: a folder can keep clients from everything in it, or from nothing", names()));
    } else {
        let is_redirect = redirect.is_some();
        let status = redirect_status.filter(|_| is_redirect).or(*respond).unwrap_or(REDIRECT_STATUS);
        // The importer makes a 403 of `Require all denied`.
        let needed = if status == 403 { "deny" } else { "redirects" };
        if !may.has(needed) {
            mistakes.push(not_allowed(needed));
        }
        let to = redirect.clone();
        folder.redirects.extend(draft.paths.iter().map(|path| FolderRedirect {
            path: path.clone(),
            status,
            to: to.clone(),
            at: SaidAt::default(),
        }));
    }
}

/// Returns the settings of a folder that sets nothing.
fn unsaid() -> Settings {
    let mut settings = Settings::blank();
    for row in ROWS.iter().filter(|row| MaySet::ALL.has(row.name) && !row.default.is_empty()) {
        let applied = row.apply(&mut settings, row.default);
        debug_assert_eq!(Ok(()), applied, "a default is right");
    }
    settings
}

/// Returns the given settings, and notes a mistake for each setting that is not allowed.
fn allowed(given: Vec<Said>, may: MaySet, mistakes: &mut Vec<String>) -> Vec<Said> {
    let names = given.iter().map(|said| ROWS[said.row].name);
    mistakes.extend(names.filter(|name| !may.has(name)).map(not_allowed));
    given
}

fn not_allowed(name: &str) -> String {
    match MaySet::word_of(name) {
        Some((word, _)) => format!("{name}: the site would have to allow it with htaccess = [{word:?}]"),
        None => format!("{name}: a folder cannot set this"),
    }
}

impl Reader<'_> {
    fn folder(&mut self, file: &Path, table: &DeTable<'_>, may: MaySet) -> FolderSettings {
        let (place, children): (_, &[&str]) = (Place::Folder(may), &["redirects"]);
        let children = if may.has("redirects") { children } else { &[] };
        let keys = Keys { at: 0, table, name: FOLDER, place, children };
        let mut runs = FolderRuns::default();
        let given = self.keys(&keys, FOLDER_ROWS, &mut runs);
        let find = |name: &str| table.iter().find(|(key, _)| key.get_ref() == name);
        let redirects = match find("redirects").filter(|_| !children.is_empty()) {
            Some((_, value)) => self.redirects(file, value),
            None => Vec::new(),
        };
        let is_off = given.of("auth").is_some_and(|said| said.texts() == ["off"]);
        let settings = with(&unsaid(), &given, &|at| self.lines.said_at(file, at));
        for (name, why) in mistakes_of_folder(&settings) {
            if let Some((key, _)) = find(name) {
                self.note(key.span(), format!("{name}: {why}"));
            }
        }
        if let Some((key, _)) = find("auth").filter(|_| is_off) {
            let what = "auth = off: a password needed around this folder is needed here, too; leave auth out";
            self.note(key.span(), what.to_owned());
        }
        FolderSettings { settings, redirects, runs }
    }

    fn redirects(&mut self, file: &Path, value: &Spanned<DeValue<'_>>) -> Vec<FolderRedirect> {
        let mut redirects = Vec::new();
        for (at, table) in self.tables(value, "redirects") {
            let mut draft = RedirectDraft::default();
            let place = Place::Folder(MaySet::default());
            let keys = Keys { at, table, name: "a redirect", place, children: &[] };
            let given = self.keys(&keys, REDIRECT_ROWS, &mut draft);
            let find = |name: &str| table.iter().find(|(key, _)| key.get_ref() == name);
            for name in ["path", "redirect"] {
                if find(name).is_none() && !given.unread.contains(&name) {
                    self.note(at..at, format!("this redirect has no {name}"));
                }
            }
            if let (Some(path), Some(to)) = (draft.path, draft.to) {
                let status = draft.status.unwrap_or(REDIRECT_STATUS);
                let at = find("redirect").map_or(at, |(_, value)| value.span().start);
                redirects.push(FolderRedirect {
                    path,
                    status,
                    to: Some(to),
                    at: self.lines.said_at(file, at),
                });
            }
        }
        redirects
    }
}

/// Reads a path beneath a folder: written like the path of a route, but without the slash in front.
fn beneath(text: &str) -> Result<PathPattern, String> {
    if text.starts_with('/') {
        return Err("it is beneath the folder, so no slash stands in front".to_owned());
    }
    path::read(&if text.starts_with('*') { text.to_owned() } else { format!("/{text}") })
}
