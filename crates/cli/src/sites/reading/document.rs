//! Reads a file of sites: every key is looked up, every value is read, every mistake is noted.

use std::borrow::Cow;
use std::collections::{HashMap, HashSet};
use std::ops::Range;
use std::path::Path;

use adyton_route::{HostPattern, PathPattern, When};
use toml::Spanned;
use toml::de::{DeTable, DeValue};

use crate::command::failure::Failure;
use crate::command::nearest::nearest;
use crate::rows::ROWS;
use crate::settings::bind::Bind;
use crate::settings::row::{Row, Scope};
use crate::settings::typed::Settings;
use crate::sites::reading::broken::{Mended, mend};
use crate::sites::reading::keys::{Keys, Place};
use crate::sites::reading::mistake::{Lines, Mistake, failure};
use crate::sites::reading::path;
use crate::sites::reading::rows::{
    ACTIONS, GROUP_ROWS, GroupDraft, MATCHING, PARTS, ROUTE_ROWS, RouteDraft, SITE_ROWS, SiteDraft,
    group_name,
};
use crate::sites::reading::unknown::{Unknown, unknown, unknown_table};

/// A file that has been read, but not yet compared with the disk.
#[derive(Clone, Debug, Default)]
pub(crate) struct Document {
    /// The settings of `[server]`.
    pub(crate) server: Given,
    pub(crate) groups: Vec<GroupTable>,
    pub(crate) sites: Vec<SiteTable>,
}

/// Keys of actions that run in a group.
const IN_GROUPS: [&str; 4] = ["app", "handler", "scripts", "cgi"];

/// Limit of groups: a process cannot be handed more passages, which are the sockets through which it passes connections
/// to groups.
const GROUPS_MAX: usize = 64;

/// The settings that a table gives.
#[derive(Clone, Debug, Default)]
pub(crate) struct Given {
    pub(crate) said: Vec<Said>,
    /// Keys that a mistake is about, for [`Settings::is_unread`].
    pub(crate) unread: Vec<&'static str>,
}

/// The values of a setting in a table.
#[derive(Clone, Debug)]
pub(crate) struct Said {
    /// The number of the row.
    pub(crate) row: usize,
    pub(crate) values: Vec<Value>,
}

/// One value, as it would be written on the command line.
#[derive(Clone, Debug)]
pub(crate) struct Value {
    pub(crate) text: String,
    /// The place of the value, in bytes.
    pub(crate) place: Range<usize>,
}

impl Given {
    /// Returns the values that the table gives to a setting, if it gives any.
    pub(crate) fn of(&self, name: &str) -> Option<&Said> {
        self.said.iter().find(|said| ROWS[said.row].name == name)
    }

    /// Whether a mistake is about one of these keys.
    pub(crate) fn is_unread(&self, names: &[&str]) -> bool {
        self.unread.iter().any(|unread| names.contains(unread))
    }
}

impl Said {
    /// Returns the values as texts.
    pub(crate) fn texts(&self) -> Vec<&str> {
        self.values.iter().map(|value| value.text.as_str()).collect()
    }
}

/// A table `[groups.NAME]`.
#[derive(Clone, Debug)]
pub(crate) struct GroupTable {
    /// The place of the name, in bytes.
    pub(crate) at: usize,
    pub(crate) name: String,
    /// Keys that only groups have, and the places of their values, in bytes.
    pub(crate) keys: Vec<(&'static str, usize)>,
    pub(crate) draft: GroupDraft,
    pub(crate) given: Given,
}

impl GroupTable {
    /// Returns the place of the value of a key that only groups have, or the place of the group's name if the
    /// key is absent.
    pub(crate) fn at(&self, key: &str) -> usize {
        self.keys.iter().find(|(other, _)| *other == key).map_or(self.at, |(_, at)| *at)
    }
}

/// A table `[[sites]]`.
#[derive(Clone, Debug)]
pub(crate) struct SiteTable {
    /// The place where the table begins, in bytes.
    pub(crate) at: usize,
    /// Keys that only sites have, and the places of their values, in bytes.
    pub(crate) keys: Vec<(&'static str, usize)>,
    pub(crate) draft: SiteDraft,
    pub(crate) given: Given,
    pub(crate) routes: Vec<RouteTable>,
}

impl SiteTable {
    /// Returns the place of the value of a key that only sites have, or the place where the site begins if
    /// the key is absent.
    pub(crate) fn at(&self, key: &str) -> usize {
        self.keys.iter().find(|(other, _)| *other == key).map_or(self.at, |(_, at)| *at)
    }
}

impl RouteTable {
    /// Returns the place of the value of a key that only routes have, or the place where the route begins if
    /// the key is absent.
    pub(crate) fn at(&self, key: &str) -> usize {
        self.keys.iter().find(|(other, _)| *other == key).map_or(self.at, |(_, at)| *at)
    }
}

/// A table `[[sites.routes]]`.
#[derive(Clone, Debug)]
pub(crate) struct RouteTable {
    /// The place where the table begins, in bytes.
    pub(crate) at: usize,
    /// The places of the values of its actions.
    pub(crate) places: ActionPlaces,
    /// Keys that only routes have, and the places of their values, in bytes.
    pub(crate) keys: Vec<(&'static str, usize)>,
    pub(crate) draft: RouteDraft,
    pub(crate) given: Given,
}

/// The places of the values of the actions, in bytes; the place where the route begins, if there is none.
#[derive(Clone, Copy, Debug)]
pub(crate) struct ActionPlaces {
    pub(crate) files: usize,
    /// The place of the action that is not `files`.
    pub(crate) other: usize,
}

impl Document {
    /// Returns all that the processes of a group depend on: the settings of the server and of the group, the names of
    /// all sites, and the sites where the group has a route. Places in the file are left out.
    pub(crate) fn fingerprint(&self, group: &GroupTable) -> String {
        let sites = self.sites.iter().map(|site| {
            let is_its = |route: &RouteTable| route.draft.group.as_ref() == Some(&group.name);
            let routes = site.routes.iter().map(|route| (&route.draft, shown(&route.given)));
            let whole = site
                .routes
                .iter()
                .any(is_its)
                .then(|| (&site.draft, shown(&site.given), routes.collect::<Vec<_>>()));
            (&site.draft.hosts, !site.draft.bind.is_empty(), whole)
        });
        let (server, own) = (shown(&self.server), shown(&group.given));
        format!("{:?}", (server, &group.name, &group.draft, own, sites.collect::<Vec<_>>()))
    }

    /// Gives each application whose route names no group the group of its site, or the default one.
    fn assign_groups(&mut self) {
        let default = self.groups.iter().find(|group| group.draft.is_default).map(|group| &group.name);
        for site in &mut self.sites {
            let group = site.draft.group.as_ref().or(default);
            for route in site.routes.iter_mut().filter(|route| route.draft.runs_application()) {
                route.draft.group = route.draft.group.take().or_else(|| group.cloned());
            }
        }
    }

    /// Reads a file; returns what was understood, and all mistakes.
    ///
    /// # Errors
    ///
    /// The file is not TOML at all; each mistake is on a line of its own with file, line and column.
    pub(crate) fn read(file: &Path, text: &str) -> Result<(Document, Vec<Mistake>), Failure> {
        #[expect(clippy::redundant_closure_for_method_calls, reason = "the method is one for each lifetime")]
        read(file, text, |reader, table| reader.document(table))
    }
}

/// Returns the groups that sites and routes name, each with its place, in bytes.
fn groups_named(sites: &[SiteTable]) -> impl Iterator<Item = (usize, &String)> {
    sites.iter().flat_map(|site| {
        let own = site.draft.group.iter().map(|name| (site.at("group"), name));
        let routes = site.routes.iter();
        own.chain(routes.filter_map(|route| Some((route.at("group"), route.draft.group.as_ref()?))))
    })
}

/// Returns the settings without their places.
fn shown(given: &Given) -> Vec<(usize, Vec<&str>)> {
    given.said.iter().map(|said| (said.row, said.texts())).collect()
}

/// Reads a file's tables; returns what was understood, and all mistakes.
///
/// # Errors
///
/// The errors of [`Document::read`].
pub(crate) fn read<T>(
    file: &Path,
    text: &str,
    take: impl FnOnce(&mut Reader<'_>, &DeTable<'_>) -> T,
) -> Result<(T, Vec<Mistake>), Failure> {
    let (table, errors) = DeTable::parse_recoverable(text);
    let mut reader = Reader { lines: Lines::new(text), mistakes: Vec::new(), broken: Vec::new() };
    if errors.is_empty() {
        let made = take(&mut reader, table.get_ref());
        return Ok((made, reader.mistakes));
    }
    for error in errors {
        // The parser's sentence may have several lines.
        let what = error.message().split('\n').collect::<Vec<_>>().join("; ");
        reader.note(error.span().unwrap_or_default(), what);
    }
    if let Some(Mended { text, broken }) = mend(text, reader.mistakes.iter().map(|mistake| mistake.at))
        && let Ok(table) = DeTable::parse(&text)
    {
        reader.broken = broken;
        let made = take(&mut reader, table.get_ref());
        return Ok((made, reader.mistakes));
    }
    Err(failure(file, &reader.lines, reader.mistakes))
}

/// The reader of a file, which notes its mistakes.
pub(crate) struct Reader<'t> {
    pub(crate) lines: Lines<'t>,
    mistakes: Vec<Mistake>,
    /// Tables that were emptied, because something in them is not TOML.
    broken: Vec<Range<usize>>,
}

impl Reader<'_> {
    pub(crate) fn note(&mut self, span: Range<usize>, what: String) {
        self.mistakes.push(Mistake { at: span.start, what });
    }

    fn document(&mut self, table: &DeTable<'_>) -> Document {
        let mut document = Document::default();
        // Tables that were not understood, and keys outside all tables.
        let mut unread: Vec<&'static str> = Vec::new();
        for (key, value) in table {
            match (key.get_ref().as_ref(), value.get_ref()) {
                ("server", DeValue::Table(server)) => {
                    document.server = self.server(key.span().start, server);
                }
                ("groups", DeValue::Table(groups)) => {
                    let before = self.mistakes.len();
                    document.groups = self.groups(groups);
                    if document.groups.len() < groups.len() && self.mistakes.len() > before {
                        unread.push("groups");
                    }
                }
                ("sites", DeValue::Array(_)) => document.sites = self.sites(value),
                (name @ ("server" | "groups" | "sites"), _) => {
                    let (form, table) = match name {
                        "server" => ("[server]", "server"),
                        "groups" => ("[groups.NAME]", "groups"),
                        _ => ("[[sites]]", "sites"),
                    };
                    self.note(key.span(), format!("{name} is a table; write {form}"));
                    unread.push(table);
                }
                (name, _) => {
                    let Unknown { what, meant } = unknown_table(name, value.get_ref());
                    self.note(key.span(), what);
                    unread.extend(meant);
                }
            }
        }
        if unread.contains(&"server") {
            unread.extend(ROWS.iter().map(|row| row.name));
        }
        document.server.unread.extend(unread);
        let has_sites = table.iter().any(|(key, _)| key.get_ref() == "sites");
        if !has_sites && !document.server.is_unread(&["sites"]) {
            self.note(0..0, "there is no site: a file has [[sites]] with [[sites.routes]]".to_owned());
        }
        self.check_hosts(&document.sites);
        self.check_groups(&document);
        document.assign_groups();
        self.check_use(&document);
        document
    }

    fn server(&mut self, at: usize, table: &DeTable<'_>) -> Given {
        let keys = Keys { at, table, name: "[server]", place: Place::Scope(Scope::Server), children: &[] };
        self.keys::<()>(&keys, &[], &mut ())
    }

    fn groups(&mut self, table: &DeTable<'_>) -> Vec<GroupTable> {
        let mut groups = Vec::new();
        for (key, value) in table {
            let name = key.get_ref().to_string();
            if let Err(why) = group_name(&name) {
                self.note(key.span(), format!("{name:?} is no name of a group: {why}"));
                continue;
            }
            let DeValue::Table(inside) = value.get_ref() else {
                self.note(key.span(), format!("a group is a table; write [groups.{name}]"));
                continue;
            };
            let mut draft = GroupDraft::default();
            let at = key.span().start;
            let keys = Keys { at, table: inside, name: "a group", place: Place::Group, children: &[] };
            let given = self.keys(&keys, GROUP_ROWS, &mut draft);
            let find = |name: &str| inside.iter().find(|(key, _)| key.get_ref() == name);
            let says_none = |name: &str| given.of(name).is_some_and(|said| said.texts().contains(&"0"));
            if says_none("processes")
                && let Some((key, _)) = find("processes")
            {
                let what =
                    "processes = 0: a group has processes; min-processes = 0 lets them end when they idle";
                self.note(key.span(), what.to_owned());
            }
            if !says_none("min-processes")
                && !given.is_unread(&["min-processes"])
                && let Some((key, _)) = find("idle-timeout")
            {
                let what = "idle-timeout goes with min-processes = 0: other groups always have processes";
                self.note(key.span(), what.to_owned());
            }
            let keys = places_of(inside, GROUP_ROWS);
            groups.push(GroupTable { at: key.span().start, name, keys, draft, given });
        }
        if groups.len() > GROUPS_MAX
            && let Some(group) = groups.get(GROUPS_MAX)
        {
            self.note(group.at..group.at, format!("there are more than {GROUPS_MAX} groups, the maximum"));
        }
        groups
    }

    fn sites(&mut self, value: &Spanned<DeValue<'_>>) -> Vec<SiteTable> {
        let mut sites = Vec::new();
        for (at, table) in self.tables(value, "sites") {
            let mut draft = SiteDraft::default();
            let keys =
                Keys { at, table, name: "a site", place: Place::Scope(Scope::Site), children: &["routes"] };
            let given = self.keys(&keys, SITE_ROWS, &mut draft);
            let routes = if let Some((_, routes)) = table.iter().find(|(key, _)| key.get_ref() == "routes") {
                self.routes(routes)
            } else {
                if !given.is_unread(&["routes"]) {
                    self.note(at..at, "this site has no routes, so nothing is served".to_owned());
                }
                Vec::new()
            };
            let keys = places_of(table, SITE_ROWS);
            sites.push(SiteTable { at, keys, draft, given, routes });
        }
        sites
    }

    fn routes(&mut self, value: &Spanned<DeValue<'_>>) -> Vec<RouteTable> {
        let mut routes: Vec<RouteTable> = Vec::new();
        for (at, table) in self.tables(value, "sites.routes") {
            let mut draft = RouteDraft::default();
            let keys = Keys { at, table, name: "a route", place: Place::Scope(Scope::Route), children: &[] };
            let mut given = self.keys(&keys, ROUTE_ROWS, &mut draft);
            if !table.iter().any(|(key, _)| key.get_ref() == "path") {
                draft.paths = vec![PathPattern::Prefix(Box::default())];
            }
            let places = self.check_action(at, table, &draft, &mut given);
            if !given.is_unread(&["path"]) {
                self.check_mount(table, &draft);
            }
            let keys = places_of(table, ROUTE_ROWS);
            routes.push(RouteTable { at, places, keys, draft, given });
        }
        self.check_reach(&routes);
        routes
    }

    /// Returns the tables of an array, each with the place where it begins.
    pub(crate) fn tables<'v, 't>(
        &mut self,
        value: &'v Spanned<DeValue<'t>>,
        name: &str,
    ) -> Vec<(usize, &'v DeTable<'t>)> {
        let DeValue::Array(array) = value.get_ref() else {
            self.note(value.span(), format!("write [[{name}]], with two brackets, for each of them"));
            return Vec::new();
        };
        if array.is_empty() {
            self.note(value.span(), format!("there is none; write [[{name}]] for each of them"));
        }
        let mut tables = Vec::new();
        for item in array {
            match item.get_ref() {
                DeValue::Table(table) => tables.push((item.span().start, table)),
                _ => {
                    self.note(item.span(), format!("{name} holds tables; write [[{name}]] for each of them"));
                }
            }
        }
        tables
    }

    /// Reads all keys of a table: rows into `draft`, settings of the server to be given later.
    pub(crate) fn keys<S>(&mut self, keys: &Keys<'_, '_>, rows: &'static [Row<S>], draft: &mut S) -> Given {
        let mut given = Given::default();
        if self.broken.iter().any(|table| table.contains(&keys.at)) {
            given.unread.extend(keys.names(rows));
        }
        for (key, value) in keys.table {
            let name: &str = key.get_ref();
            if keys.children.contains(&name) {
                continue;
            }
            let before = self.mistakes.len();
            let name = if let Some(row) = rows.iter().find(|row| row.name == name && keys.place.lets(name)) {
                self.values(row, value, draft);
                row.name
            } else if let Some(index) = ROWS.iter().position(|row| row.name == name && keys.place.has(row)) {
                // The value can be checked now, though the settings that it will go to are not known yet.
                let values = self.values(&ROWS[index], value, &mut Settings::blank());
                given.said.push(Said { row: index, values });
                ROWS[index].name
            } else {
                let Unknown { what, meant } = unknown(name, value.get_ref(), keys, rows);
                self.note(key.span(), what);
                given.unread.extend(meant);
                continue;
            };
            if self.mistakes.len() > before {
                given.unread.push(name);
            }
        }
        given
    }

    /// Reads the values of a key and stores them; returns the texts that were stored.
    fn values<S>(&mut self, row: &Row<S>, value: &Spanned<DeValue<'_>>, draft: &mut S) -> Vec<Value> {
        let name = row.name;
        if let Some(shown) = empty(value.get_ref()) {
            let what =
                format!("{name} = {shown}: an empty list says neither all nor none; {}", instead(name));
            self.note(value.span(), what);
            return Vec::new();
        }
        let texts = match value.get_ref() {
            DeValue::Array(array) if row.is_list() => {
                let texts: Option<Vec<String>> = array.iter().map(|item| scalar(item.get_ref())).collect();
                vec![(value.span(), texts.map(|texts| texts.join(",")))]
            }
            DeValue::Array(_) | DeValue::Table(_) if !row.repeatable => {
                self.note(value.span(), format!("{name} takes one value, as in {name} = {}", row.quoted()));
                return Vec::new();
            }
            DeValue::Array(array) => array.iter().map(|item| (item.span(), scalar(item.get_ref()))).collect(),
            DeValue::Table(table) if row.shape().contains('=') => {
                let pair = |(key, item): (&Spanned<_>, &Spanned<DeValue<'_>>)| {
                    let text = scalar(item.get_ref()).map(|text| format!("{}={text}", key.get_ref()));
                    (item.span(), text)
                };
                table.iter().map(pair).collect()
            }
            DeValue::Table(_) => vec![(value.span(), None)],
            other => vec![(value.span(), scalar(other))],
        };
        let mut stored = Vec::new();
        for (span, text) in texts {
            let Some(text) = text else {
                self.note(span, format!("{name}: write a text, a decimal number, true or false"));
                continue;
            };
            match row.apply(draft, &text) {
                Ok(()) => stored.push(Value { text, place: span.clone() }),
                Err(why) => {
                    let shown =
                        if text.is_empty() { "\"\"".to_owned() } else { text.escape_debug().to_string() };
                    self.note(span, format!("{name} = {shown}: {why}"));
                }
            }
        }
        stored
    }

    /// Checks that a route has one action, or the actions that it tries, and the keys that belong to them; returns the
    /// actions' places.
    fn check_action(
        &mut self,
        at: usize,
        table: &DeTable<'_>,
        draft: &RouteDraft,
        given: &mut Given,
    ) -> ActionPlaces {
        let find = |name: &str| table.iter().find(|(key, _)| key.get_ref() == name);
        let actions: Vec<_> = ACTIONS.iter().filter_map(|name| find(name)).collect();
        // A key that was not understood may be meant as one of these.
        let may_have = |names: &[&str]| given.is_unread(names);
        let before = self.mistakes.len();
        match (find("try"), actions.as_slice()) {
            (_, []) if may_have(&ACTIONS) => {}
            (_, []) => {
                let all = ACTIONS.join(", ");
                self.note(at..at, format!("this route has no key that answers; add one of {all}"));
            }
            (Some((_, value)), _) => self.check_tried(value.span(), &actions, &draft.tried, given),
            (None, [_]) => {}
            (None, _) if may_have(&["try"]) => {}
            (None, [(first, _), (second, _), ..]) => {
                let hint =
                    if [first, second].iter().any(|key| key.get_ref() == "files") { ", or try" } else { "" };
                let (first, second_name) = (first.get_ref(), second.get_ref());
                self.note(
                    second.span(),
                    format!("{first} and {second_name}: a route has one of them; write another route{hint}"),
                );
            }
        }
        let is_answer_unread = self.mistakes.len() > before;
        if let Some((key, _)) = find("group")
            && IN_GROUPS.into_iter().all(|action| find(action).is_none())
            && !may_have(&IN_GROUPS)
        {
            let what = "group belongs to app, handler, scripts or cgi: nothing else runs in a group";
            self.note(key.span(), what.to_owned());
        }
        for (part, action) in PARTS {
            if let Some((key, _)) = find(part)
                && find(action).is_none()
                && !may_have(&[action])
            {
                self.note(key.span(), format!("{part} belongs to {action}, which this route does not have"));
            }
        }
        if is_answer_unread {
            given.unread.extend(ACTIONS);
        }
        let place = |found: Option<&(&Spanned<_>, &Spanned<DeValue<'_>>)>| {
            found.map_or(at, |(_, value)| value.span().start)
        };
        let other = actions.iter().find(|(key, _)| key.get_ref() != "files");
        ActionPlaces { files: place(find("files").as_ref()), other: place(other) }
    }

    /// Checks that a route has the actions that it tries, and no others.
    fn check_tried(
        &mut self,
        span: Range<usize>,
        actions: &[(&Spanned<Cow<'_, str>>, &Spanned<DeValue<'_>>)],
        tried: &[&str],
        given: &Given,
    ) {
        for name in tried {
            if !actions.iter().any(|(key, _)| key.get_ref() == name) && !given.is_unread(&[*name]) {
                self.note(span.clone(), format!("try = {name}: this route has no {name}"));
            }
        }
        // An unknown name in `try` has been reported already.
        let is_whole = !self.mistakes.iter().any(|mistake| span.contains(&mistake.at));
        for (key, _) in actions {
            if is_whole && !tried.contains(&key.get_ref().as_ref()) {
                let name = key.get_ref();
                self.note(key.span(), format!("{name} is not in try, so it never answers"));
            }
        }
    }

    /// Checks that an application's mount is the path of its route, or above it.
    fn check_mount(&mut self, table: &DeTable<'_>, draft: &RouteDraft) {
        let Some((_, value)) = table.iter().find(|(key, _)| key.get_ref() == "mount") else { return };
        if let Some(path) = draft.paths.iter().find(|path| draft.mount.bytes(path).is_none()) {
            let path = path::written(path);
            self.note(
                value.span(),
                format!("mount: {path} is not beneath it; mount is the path of the route, or a prefix of that path"),
            );
        }
    }

    /// Checks that no route has the same path as an earlier one that takes every request.
    fn check_reach(&mut self, routes: &[RouteTable]) {
        // A key that was not understood may be the one that tells two routes apart.
        let is_read = |route: &RouteTable| {
            !route.given.is_unread(&MATCHING) && !route.given.is_unread(&["files", "try"])
        };
        for (number, route) in routes.iter().enumerate().filter(|(_, route)| is_read(route)) {
            for path in &route.draft.paths {
                let takes_all = |earlier: &&RouteTable| {
                    earlier.draft.paths.contains(path)
                        && earlier.draft.when == When::default()
                        && (earlier.draft.files.is_none() || earlier.draft.tried.len() > 1)
                };
                if let Some(earlier) = routes[..number].iter().filter(|route| is_read(route)).find(takes_all)
                {
                    let line = self.lines.line(earlier.at);
                    let path = path::written(path);
                    self.note(
                        route.at..route.at,
                        format!(
                            "this route is never taken: the route of line {line} takes every request for {path}"
                        ),
                    );
                }
            }
        }
    }

    /// Checks that the groups that routes and sites name exist, and that one at most is the default.
    fn check_groups(&mut self, document: &Document) {
        let is_unread = document.server.is_unread(&["groups"]);
        for (at, name) in groups_named(&document.sites).filter(|_| !is_unread) {
            if document.groups.iter().all(|group| group.name != *name) {
                let names = document.groups.iter().map(|group| group.name.as_str());
                let hint =
                    nearest(name, names).map_or(NO_GROUP.to_owned(), |near| format!("did you mean {near}?"));
                self.note(at..at, format!("there is no table [groups.{name}]; {hint}"));
            }
        }
        let mut defaults = document.groups.iter().filter(|group| group.draft.is_default);
        if let (Some(first), Some(second)) = (defaults.next(), defaults.next()) {
            let at = second.at("default");
            self.note(
                at..at,
                format!(
                    "default: the group {} is the default one already; take it out of one of them",
                    first.name
                ),
            );
        }
    }

    /// Checks that each group runs an application, and that the group of each site runs an application of that site.
    fn check_use(&mut self, document: &Document) {
        let routes = || document.sites.iter().flat_map(|site| &site.routes);
        let may_name = |given: &Given| given.is_unread(&["routes", "group"]);
        let mut given =
            document.sites.iter().map(|site| &site.given).chain(routes().map(|route| &route.given));
        if document.server.is_unread(&["sites"]) || given.any(may_name) {
            return;
        }
        let is_in = |route: &RouteTable, name: &String| route.draft.group.as_ref() == Some(name);
        for group in document.groups.iter().filter(|group| !group.given.is_unread(&["default"])) {
            let name = &group.name;
            if !routes().any(|route| is_in(route, name)) {
                let what = format!(
                    "no application runs in this group: write group = {name:?} in a route or a site that has one"
                );
                self.note(group.at..group.at, what);
                continue;
            }
            let is_vain = |site: &&SiteTable| {
                site.draft.group.as_ref() == Some(name) && !site.routes.iter().any(|route| is_in(route, name))
            };
            for site in document.sites.iter().filter(is_vain) {
                let at = site.at("group");
                let what = format!("group = {name:?}: no application of this site runs in it; take it out");
                self.note(at..at, what);
            }
        }
    }

    /// Checks that each name belongs to one site at each address, and that only the first site at an address has no
    /// name.
    fn check_hosts(&mut self, sites: &[SiteTable]) {
        let mut lines: HashMap<(&[Bind], &HostPattern), usize> = HashMap::new();
        let mut seen: HashSet<&[Bind]> = HashSet::new();
        for site in sites {
            let SiteDraft { hosts, bind, .. } = &site.draft;
            let is_first = seen.insert(bind);
            if hosts.is_empty() && !is_first && !site.given.is_unread(&["hosts", "bind"]) {
                self.note(
                    site.at..site.at,
                    "this site has no hosts, and only the first one needs none: it answers all other names"
                        .to_owned(),
                );
            }
            let line = self.lines.line(site.at);
            for host in hosts.iter().filter(|_| !site.given.is_unread(&["bind"])) {
                if let Some(earlier) = lines.insert((bind.as_slice(), host), line) {
                    self.note(
                        site.at..site.at,
                        format!("{host} is a name of the site of line {earlier} already"),
                    );
                }
            }
        }
    }
}

/// Returns the keys of these rows in a table, and the places of their values, in bytes.
fn places_of<S>(table: &DeTable<'_>, rows: &'static [Row<S>]) -> Vec<(&'static str, usize)> {
    let row = |key: &str| rows.iter().find(|row| row.name == key).map(|row| row.name);
    let own = |(key, value): (&Spanned<Cow<'_, str>>, &Spanned<DeValue<'_>>)| {
        Some((row(key.get_ref())?, value.span().start))
    };
    table.iter().filter_map(own).collect()
}

/// Returns a value as it would be written on the command line.
fn scalar(value: &DeValue<'_>) -> Option<String> {
    match value {
        DeValue::String(text) => Some(text.to_string()),
        DeValue::Boolean(true) => Some("on".to_owned()),
        DeValue::Boolean(false) => Some("off".to_owned()),
        DeValue::Integer(number) if number.radix() == 10 => Some(number.as_str().to_owned()),
        DeValue::Float(number) => Some(number.as_str().to_owned()),
        _ => None,
    }
}

/// Returns how an empty list or table is written, if the value is one.
fn empty(value: &DeValue<'_>) -> Option<&'static str> {
    match value {
        DeValue::Array(array) if array.is_empty() => Some("[]"),
        DeValue::Table(table) if table.is_empty() => Some("{}"),
        _ => None,
    }
}

/// Returns what to write in the place of an empty list.
fn instead(name: &str) -> String {
    match name {
        "allow" => "write allow = \"all\" to let everybody in, or leave it out".to_owned(),
        "deny" => "write deny = \"none\" to keep nobody out, or leave it out".to_owned(),
        "index" => "write index = \"none\" to have no file answer, or leave it out".to_owned(),
        "may-set" | "htaccess" => {
            format!("write {name} = \"none\" to let folders set nothing, or leave it out")
        }
        _ => format!("leave {name} out"),
    }
}

/// A user who names a group that has no table may mean a group of the operating system.
const NO_GROUP: &str = "such a table gives applications workers of their own; the group that processes become is group in [server]";
