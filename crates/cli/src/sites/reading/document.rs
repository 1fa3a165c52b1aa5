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

/// A file that has been read: what it says, not yet looked up on the disk.
#[derive(Clone, Debug, Default)]
pub(crate) struct Document {
    /// The settings of `[server]`.
    pub(crate) server: Given,
    pub(crate) groups: Vec<GroupTable>,
    pub(crate) sites: Vec<SiteTable>,
}

/// Keys of what runs in a group.
const IN_GROUPS: [&str; 4] = ["app", "handler", "scripts", "cgi"];

/// More would be more than a process can be handed passages to.
const GROUPS_MAX: usize = 64;

/// The settings that a table gives.
#[derive(Clone, Debug, Default)]
pub(crate) struct Given {
    pub(crate) said: Vec<Said>,
    /// The keys of a mistake, as [`Settings::is_unread`] has them.
    pub(crate) unread: Vec<&'static str>,
}

/// What a table says of one setting.
#[derive(Clone, Debug)]
pub(crate) struct Said {
    /// The number of its row.
    pub(crate) row: usize,
    pub(crate) values: Vec<Value>,
}

/// One value, as it would be written on the command line.
#[derive(Clone, Debug)]
pub(crate) struct Value {
    pub(crate) text: String,
    /// Where it stands, in bytes.
    pub(crate) place: Range<usize>,
}

impl Given {
    /// The value that the table gives to a setting, if it gives one.
    pub(crate) fn of(&self, name: &str) -> Option<&Said> {
        self.said.iter().find(|said| ROWS[said.row].name == name)
    }

    /// Whether a mistake is about one of these keys.
    pub(crate) fn is_unread(&self, names: &[&str]) -> bool {
        self.unread.iter().any(|unread| names.contains(unread))
    }
}

impl Said {
    /// The values.
    pub(crate) fn texts(&self) -> Vec<&str> {
        self.values.iter().map(|value| value.text.as_str()).collect()
    }
}

/// A table `[groups.NAME]`.
#[derive(Clone, Debug)]
pub(crate) struct GroupTable {
    /// Where its name stands, in bytes.
    pub(crate) at: usize,
    pub(crate) name: String,
    /// Where the values of keys that only groups have stand, in bytes.
    pub(crate) keys: Vec<(&'static str, usize)>,
    pub(crate) draft: GroupDraft,
    pub(crate) given: Given,
}

impl GroupTable {
    /// Where the value of a key stands that only groups have; else where the name of the group does.
    pub(crate) fn at(&self, key: &str) -> usize {
        self.keys.iter().find(|(other, _)| *other == key).map_or(self.at, |(_, at)| *at)
    }
}

/// A table `[[sites]]`.
#[derive(Clone, Debug)]
pub(crate) struct SiteTable {
    /// Where it begins, in bytes.
    pub(crate) at: usize,
    /// Where the values of keys that only sites have stand, in bytes.
    pub(crate) keys: Vec<(&'static str, usize)>,
    pub(crate) draft: SiteDraft,
    pub(crate) given: Given,
    pub(crate) routes: Vec<RouteTable>,
}

impl SiteTable {
    /// Where the value of a key stands that only sites have; else where the site begins.
    pub(crate) fn at(&self, key: &str) -> usize {
        self.keys.iter().find(|(other, _)| *other == key).map_or(self.at, |(_, at)| *at)
    }
}

impl RouteTable {
    /// Where the value of a key stands that only routes have; else where the route begins.
    pub(crate) fn at(&self, key: &str) -> usize {
        self.keys.iter().find(|(other, _)| *other == key).map_or(self.at, |(_, at)| *at)
    }
}

/// A table `[[sites.routes]]`.
#[derive(Clone, Debug)]
pub(crate) struct RouteTable {
    /// Where it begins, in bytes.
    pub(crate) at: usize,
    /// Where what its actions name stands.
    pub(crate) places: ActionPlaces,
    /// Where the values of keys that only routes have stand, in bytes.
    pub(crate) keys: Vec<(&'static str, usize)>,
    pub(crate) draft: RouteDraft,
    pub(crate) given: Given,
}

/// Where the values of the keys that answer stand, in bytes; where the route begins, if there is none.
#[derive(Clone, Copy, Debug)]
pub(crate) struct ActionPlaces {
    pub(crate) files: usize,
    /// Of the one that is not `files`.
    pub(crate) other: usize,
}

impl Document {
    /// All that the processes of a group depend on: the settings of the server and its own, which names sites have, and
    /// the sites where it has a route. Places in the file are not among it.
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

    /// Gives each application whose route names no group that of its site, or the default one.
    fn assign_groups(&mut self) {
        let default = self.groups.iter().find(|group| group.draft.is_default).map(|group| &group.name);
        for site in &mut self.sites {
            let group = site.draft.group.as_ref().or(default);
            for route in site.routes.iter_mut().filter(|route| route.draft.runs_application()) {
                route.draft.group = route.draft.group.take().or_else(|| group.cloned());
            }
        }
    }

    /// Reads a file: what was understood of it, and all mistakes in that.
    ///
    /// # Errors
    ///
    /// It is no TOML; each mistake on a line of its own with file, line and column.
    pub(crate) fn read(file: &Path, text: &str) -> Result<(Document, Vec<Mistake>), Failure> {
        #[expect(clippy::redundant_closure_for_method_calls, reason = "the method is one for each lifetime")]
        read(file, text, |reader, table| reader.document(table))
    }
}

/// The groups that sites and routes name, each with where it is named, in bytes.
fn groups_named(sites: &[SiteTable]) -> impl Iterator<Item = (usize, &String)> {
    sites.iter().flat_map(|site| {
        let own = site.draft.group.iter().map(|name| (site.at("group"), name));
        let routes = site.routes.iter();
        own.chain(routes.filter_map(|route| Some((route.at("group"), route.draft.group.as_ref()?))))
    })
}

/// What is given, without where it stands.
fn shown(given: &Given) -> Vec<(usize, Vec<&str>)> {
    given.said.iter().map(|said| (said.row, said.texts())).collect()
}

/// Reads a file's tables: what was understood of them, and all mistakes in them.
///
/// # Errors
///
/// As those of [`Document::read`].
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
        // The parser's sentence may have lines of its own.
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

/// What reads a file, and notes what is wrong in it.
pub(crate) struct Reader<'t> {
    pub(crate) lines: Lines<'t>,
    pub(crate) mistakes: Vec<Mistake>,
    /// Tables that were emptied, because something in them is no TOML.
    broken: Vec<Range<usize>>,
}

impl Reader<'_> {
    pub(crate) fn note(&mut self, span: Range<usize>, what: String) {
        self.mistakes.push(Mistake { at: span.start, what });
    }

    fn document(&mut self, table: &DeTable<'_>) -> Document {
        let mut document = Document::default();
        // Tables that were not understood, and keys that stand in none.
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
            self.note(
                group.at..group.at,
                format!("there are more than {GROUPS_MAX} groups, which are the most"),
            );
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
            let places = self.check_action(at, table, (&draft, &mut given));
            if !given.is_unread(&["path"]) {
                self.check_mount(table, &draft);
            }
            let keys = places_of(table, ROUTE_ROWS);
            routes.push(RouteTable { at, places, keys, draft, given });
        }
        self.check_reach(&routes);
        routes
    }

    /// The tables of an array, each with where it begins.
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
                // Where the value goes is not known yet; whether it is right is.
                let values = self.values(&ROWS[index], value, &mut Settings::default());
                given.said.push(Said { row: index, values });
                ROWS[index].name
            } else {
                let Unknown { what, meant } = unknown((name, value.get_ref()), keys, rows);
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

    /// Reads the value of a key, and stores it; the texts that it was stored as.
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

    /// A route has one action, or those that it tries; keys that are parts of one stand beside it. Where the actions stand.
    fn check_action(
        &mut self,
        at: usize,
        table: &DeTable<'_>,
        (draft, given): (&RouteDraft, &mut Given),
    ) -> ActionPlaces {
        let find = |name: &str| table.iter().find(|(key, _)| key.get_ref() == name);
        let actions: Vec<_> = ACTIONS.iter().filter_map(|name| find(name)).collect();
        // Another key may be meant as one of these.
        let may_have = |names: &[&str]| given.is_unread(names);
        let before = self.mistakes.len();
        match (find("try"), actions.as_slice()) {
            (_, []) if may_have(&ACTIONS) => {}
            (_, []) => {
                let all = ACTIONS.join(", ");
                self.note(at..at, format!("this route does not say what answers; it is one of {all}"));
            }
            (Some((_, value)), _) => self.check_tried(value.span(), &actions, (&draft.tried, &*given)),
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

    /// What a route tries is there, and nothing else.
    fn check_tried(
        &mut self,
        span: Range<usize>,
        actions: &[(&Spanned<Cow<'_, str>>, &Spanned<DeValue<'_>>)],
        (tried, given): (&[&str], &Given),
    ) {
        for name in tried {
            if !actions.iter().any(|(key, _)| key.get_ref() == name) && !given.is_unread(&[*name]) {
                self.note(span.clone(), format!("try = {name}: this route has no {name}"));
            }
        }
        // One that is not understood was told before.
        let is_whole = !self.mistakes.iter().any(|mistake| span.contains(&mistake.at));
        for (key, _) in actions {
            if is_whole && !tried.contains(&key.get_ref().as_ref()) {
                let name = key.get_ref();
                self.note(key.span(), format!("{name} is not in try, so it never answers"));
            }
        }
    }

    /// An application stands at a path that its route has, or is beneath.
    fn check_mount(&mut self, table: &DeTable<'_>, draft: &RouteDraft) {
        let Some((_, value)) = table.iter().find(|(key, _)| key.get_ref() == "mount") else { return };
        if let Some(path) = draft.paths.iter().find(|path| draft.mount.bytes(path).is_none()) {
            let path = path::written(path);
            self.note(
                value.span(),
                format!("mount: {path} is not beneath it; it is the route's path, or what that begins with"),
            );
        }
    }

    /// A route that has the same path as one before it, which takes every request, is never taken.
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
                            "this route is never taken: the one of line {line} has every request for {path}"
                        ),
                    );
                }
            }
        }
    }

    /// Groups that routes and sites name are there, and one at most is for all others.
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

    /// An application runs in each group, and in the group of each site one of that site.
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

    /// Each name is that of one site at each address, and only the first site at an address may have none.
    fn check_hosts(&mut self, sites: &[SiteTable]) {
        let mut lines: HashMap<(&[Bind], &HostPattern), usize> = HashMap::new();
        let mut seen: HashSet<&[Bind]> = HashSet::new();
        for site in sites {
            let SiteDraft { hosts, bind, .. } = &site.draft;
            let is_first = seen.insert(bind);
            if hosts.is_empty() && !is_first && !site.given.is_unread(&["hosts", "bind"]) {
                self.note(
                    site.at..site.at,
                    "this site has no hosts, and only the first one needs none: it is for all other names"
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

/// The keys of a table that these rows have, and where their values stand, in bytes.
fn places_of<S>(table: &DeTable<'_>, rows: &'static [Row<S>]) -> Vec<(&'static str, usize)> {
    let row = |key: &str| rows.iter().find(|row| row.name == key).map(|row| row.name);
    let own = |(key, value): (&Spanned<Cow<'_, str>>, &Spanned<DeValue<'_>>)| {
        Some((row(key.get_ref())?, value.span().start))
    };
    table.iter().filter_map(own).collect()
}

/// A value as it would be written on the command line.
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

/// How an empty list or table is written, if this is one.
fn empty(value: &DeValue<'_>) -> Option<&'static str> {
    match value {
        DeValue::Array(array) if array.is_empty() => Some("[]"),
        DeValue::Table(table) if table.is_empty() => Some("{}"),
        _ => None,
    }
}

/// What is written in the place of an empty list.
fn instead(name: &str) -> String {
    match name {
        "allow" => "write allow = \"all\" to let everybody in, or leave it out".to_owned(),
        "deny" => "write deny = \"none\" to keep nobody out, or leave it out".to_owned(),
        "index" => "write index = \"none\" to have no file answer, or leave it out".to_owned(),
        "may-set" | "htaccess" => {
            format!("write {name} = \"none\" to let folders say nothing, or leave it out")
        }
        _ => format!("leave {name} out"),
    }
}

/// Whoever names a group that no table has may mean those of the system.
const NO_GROUP: &str =
    "it is what has workers of its own, and the group that processes become is group in [server]";
