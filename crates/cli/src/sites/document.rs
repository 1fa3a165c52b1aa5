//! Reads a file of sites: every key is looked up, every value is read, every mistake is noted.

use std::collections::HashMap;
use std::ops::Range;
use std::path::Path;

use adyton_route::{HostPattern, PathPattern, When};
use toml::Spanned;
use toml::de::{DeTable, DeValue};

use super::mistake::{Lines, Mistake, failure};
use super::path;
use super::rows::{ACTIONS, PARTS, ROUTE_ROWS, RouteDraft, SITE_ROWS, SiteDraft};
use crate::failure::Failure;
use crate::nearest::nearest;
use crate::row::{Row, Scope};
use crate::rows::ROWS;
use crate::settings::Settings;

/// A file that has been read: what it says, not yet looked up on the disk.
#[derive(Clone, Debug, Default)]
pub(crate) struct Document {
    /// The settings of `[server]`.
    pub(crate) server: Given,
    pub(crate) sites: Vec<SiteTable>,
}

/// Settings that a table gives: the number of the row, and its values.
pub(crate) type Given = Vec<(usize, Vec<String>)>;

/// A table `[[sites]]`.
#[derive(Clone, Debug)]
pub(crate) struct SiteTable {
    /// Where it begins, in bytes.
    pub(crate) at: usize,
    pub(crate) draft: SiteDraft,
    pub(crate) given: Given,
    pub(crate) routes: Vec<RouteTable>,
}

/// A table `[[sites.routes]]`.
#[derive(Clone, Debug)]
pub(crate) struct RouteTable {
    /// Where it begins, in bytes.
    pub(crate) at: usize,
    /// Where what its action names stands.
    pub(crate) action_at: usize,
    pub(crate) draft: RouteDraft,
    pub(crate) given: Given,
}

impl Document {
    /// Reads a file.
    ///
    /// # Errors
    ///
    /// All mistakes in it, each on a line of its own with file, line and column.
    pub(crate) fn read(file: &Path, text: &str) -> Result<Document, Failure> {
        let (table, errors) = DeTable::parse_recoverable(text);
        let mut reader = Reader { lines: Lines::new(text), mistakes: Vec::new() };
        if errors.is_empty() {
            let document = reader.document(table.get_ref());
            return if reader.mistakes.is_empty() {
                Ok(document)
            } else {
                Err(failure(file, &reader.lines, reader.mistakes))
            };
        }
        for error in errors {
            // The parser's sentence may have lines of its own.
            let what = error.message().split('\n').collect::<Vec<_>>().join("; ");
            reader.note(error.span().unwrap_or_default(), what);
        }
        Err(failure(file, &reader.lines, reader.mistakes))
    }
}

/// What reads a file, and notes what is wrong in it.
struct Reader<'t> {
    lines: Lines<'t>,
    mistakes: Vec<Mistake>,
}

/// A table, and which of its keys were found.
struct Keys<'k, 't> {
    table: &'k DeTable<'t>,
    /// What the table is called in messages.
    name: &'static str,
    scope: Scope,
    /// Keys with tables of their own.
    children: &'static [&'static str],
}

impl Reader<'_> {
    fn note(&mut self, span: Range<usize>, what: String) {
        self.mistakes.push(Mistake { at: span.start, what });
    }

    fn document(&mut self, table: &DeTable<'_>) -> Document {
        let mut document = Document::default();
        for (key, value) in table {
            match (key.get_ref().as_ref(), value.get_ref()) {
                ("server", DeValue::Table(server)) => document.server = self.server(server),
                ("sites", DeValue::Array(_)) => document.sites = self.sites(value),
                (name @ ("server" | "sites"), _) => {
                    let form = if name == "server" { "[server]" } else { "[[sites]]" };
                    self.note(key.span(), format!("{name} is a table; write {form}"));
                }
                (name, _) => {
                    let hint = match (Row::find(name), nearest(name, ["server", "sites"].into_iter())) {
                        (Some(_), _) => "; settings stand in [server]".to_owned(),
                        (None, Some(near)) => format!("; did you mean {near}?"),
                        (None, None) => "; there are [server] and [[sites]]".to_owned(),
                    };
                    self.note(key.span(), format!("{name} is no table of a file of sites{hint}"));
                }
            }
        }
        if document.sites.is_empty() && !table.iter().any(|(key, _)| key.get_ref() == "sites") {
            self.note(0..0, "there is no site: a file has [[sites]] with [[sites.routes]]".to_owned());
        }
        self.check_hosts(&document.sites);
        document
    }

    fn server(&mut self, table: &DeTable<'_>) -> Given {
        let keys = Keys { table, name: "[server]", scope: Scope::Server, children: &[] };
        self.keys::<()>(&keys, &[], &mut ())
    }

    fn sites(&mut self, value: &Spanned<DeValue<'_>>) -> Vec<SiteTable> {
        let mut sites = Vec::new();
        for (at, table) in self.tables(value, "sites") {
            let mut draft = SiteDraft::default();
            let keys = Keys { table, name: "a site", scope: Scope::Site, children: &["routes"] };
            let given = self.keys(&keys, SITE_ROWS, &mut draft);
            let routes = if let Some((_, routes)) = table.iter().find(|(key, _)| key.get_ref() == "routes") {
                self.routes(routes)
            } else {
                self.note(at..at, "this site has no routes, so nothing is served".to_owned());
                Vec::new()
            };
            sites.push(SiteTable { at, draft, given, routes });
        }
        sites
    }

    fn routes(&mut self, value: &Spanned<DeValue<'_>>) -> Vec<RouteTable> {
        let mut routes: Vec<RouteTable> = Vec::new();
        let mistakes_before = self.mistakes.len();
        for (at, table) in self.tables(value, "sites.routes") {
            let mut draft = RouteDraft::default();
            let keys = Keys { table, name: "a route", scope: Scope::Route, children: &[] };
            let given = self.keys(&keys, ROUTE_ROWS, &mut draft);
            if !table.iter().any(|(key, _)| key.get_ref() == "path") {
                draft.paths = vec![PathPattern::Prefix(Box::default())];
            }
            let action_at = self.check_action(at, table);
            routes.push(RouteTable { at, action_at, draft, given });
        }
        // A key that is not understood may be what tells two routes apart.
        if self.mistakes.len() == mistakes_before {
            self.check_reach(&routes);
        }
        routes
    }

    /// The tables of an array, each with where it begins.
    fn tables<'v, 't>(
        &mut self,
        value: &'v Spanned<DeValue<'t>>,
        name: &str,
    ) -> Vec<(usize, &'v DeTable<'t>)> {
        let DeValue::Array(array) = value.get_ref() else {
            self.note(value.span(), format!("write [[{name}]], with two brackets, for each of them"));
            return Vec::new();
        };
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
    fn keys<S>(&mut self, keys: &Keys<'_, '_>, rows: &'static [Row<S>], draft: &mut S) -> Given {
        let mut given = Given::new();
        for (key, value) in keys.table {
            let name: &str = key.get_ref();
            if keys.children.contains(&name) {
                continue;
            }
            if let Some(row) = rows.iter().find(|row| row.name == name) {
                self.values(row, value, draft);
                continue;
            }
            let setting = ROWS.iter().position(|row| row.name == name && is_of(row, keys.scope));
            let Some(index) = setting else {
                let what = unknown(name, keys, rows);
                self.note(key.span(), what);
                continue;
            };
            // Where the value goes is not known yet; whether it is right is.
            given.push((index, self.values(&ROWS[index], value, &mut Settings::default())));
        }
        given
    }

    /// Reads the value of a key, and stores it; the texts that it was stored as.
    fn values<S>(&mut self, row: &Row<S>, value: &Spanned<DeValue<'_>>, draft: &mut S) -> Vec<String> {
        let name = row.name;
        let texts = match value.get_ref() {
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
                Ok(()) => stored.push(text),
                Err(why) => {
                    let shown =
                        if text.is_empty() { "\"\"".to_owned() } else { text.escape_debug().to_string() };
                    self.note(span, format!("{name} = {shown}: {why}"));
                }
            }
        }
        stored
    }

    /// A route has one action; keys that are parts of one stand beside it. Where the action stands.
    fn check_action(&mut self, at: usize, table: &DeTable<'_>) -> usize {
        let find = |name: &str| table.iter().find(|(key, _)| key.get_ref() == name);
        let actions: Vec<_> = ACTIONS.iter().filter_map(|name| find(name)).collect();
        match actions.as_slice() {
            [] => {
                let all = ACTIONS.join(", ");
                self.note(at..at, format!("this route does not say what answers; it is one of {all}"));
            }
            [_] => {}
            [(first, _), (second, _), ..] => {
                let (first, second_name) = (first.get_ref(), second.get_ref());
                self.note(
                    second.span(),
                    format!("{first} and {second_name}: a route has one of them; write another route"),
                );
            }
        }
        for (part, action) in PARTS {
            if let Some((key, _)) = find(part)
                && find(action).is_none()
            {
                self.note(key.span(), format!("{part} belongs to {action}, which this route does not have"));
            }
        }
        actions.first().map_or(at, |(_, value)| value.span().start)
    }

    /// A route that has the same path as one before it, which takes every request, is never taken.
    fn check_reach(&mut self, routes: &[RouteTable]) {
        for (number, route) in routes.iter().enumerate() {
            for path in &route.draft.paths {
                let takes_all = |earlier: &&RouteTable| {
                    earlier.draft.paths.contains(path)
                        && earlier.draft.when == When::default()
                        && earlier.draft.files.is_none()
                };
                if let Some(earlier) = routes[..number].iter().find(takes_all) {
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

    /// Each name is one site's, and only the first site may have none.
    fn check_hosts(&mut self, sites: &[SiteTable]) {
        let mut lines: HashMap<&HostPattern, usize> = HashMap::new();
        for (number, site) in sites.iter().enumerate() {
            if site.draft.hosts.is_empty() && number > 0 {
                self.note(
                    site.at..site.at,
                    "this site has no hosts, and only the first one needs none: it is for all other names"
                        .to_owned(),
                );
            }
            let line = self.lines.line(site.at);
            for host in &site.draft.hosts {
                if let Some(earlier) = lines.insert(host, line) {
                    self.note(
                        site.at..site.at,
                        format!("{host} is a name of the site of line {earlier} already"),
                    );
                }
            }
        }
    }
}

/// Whether a setting may stand in such a table. A folder is a route in a file.
pub(crate) fn is_of(row: &Row, scope: Scope) -> bool {
    row.scope >= scope && row.name != "static"
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

/// What to say about a key that a table does not have.
fn unknown<S>(name: &str, keys: &Keys<'_, '_>, rows: &'static [Row<S>]) -> String {
    let table = keys.name;
    let elsewhere = |scope: Scope, place: &str| {
        let is_there = match scope {
            Scope::Server => Row::find(name).is_some_and(|row| is_of(row, scope)),
            Scope::Site => SITE_ROWS.iter().any(|row| row.name == name),
            Scope::Route => ROUTE_ROWS.iter().any(|row| row.name == name),
        };
        is_there.then(|| format!("{name} is no key of {table}; it stands in {place}"))
    };
    if name == "static" {
        return format!(
            "{name} is no key of {table}; a folder is a route: path = \"/static/\", files = \"static\""
        );
    }
    let places =
        [(Scope::Route, "[[sites.routes]]"), (Scope::Site, "[[sites]]"), (Scope::Server, "[server]")];
    if let Some(said) = places.into_iter().find_map(|(scope, place)| elsewhere(scope, place)) {
        return said;
    }
    let settings = ROWS.iter().filter(|row| is_of(row, keys.scope)).map(|row| row.name);
    let names = rows.iter().map(|row| row.name).chain(keys.children.iter().copied()).chain(settings);
    let hint = nearest(name, names).map_or(String::new(), |near| format!("; did you mean {near}?"));
    format!("{name} is no key of {table}{hint}")
}
