//! The sites and routes that a file was compiled to, for people: `adyton check site.toml`.

use std::fmt::Write as _;
use std::path::PathBuf;

use adyton_route::{PathPattern, RouteFacts, Routes, When};

use crate::command::target::Target;
use crate::settings::typed::{Site, SiteAction, SiteRoute, Sites};
use crate::sites::reading::path::written;

impl Sites {
    /// Returns a paragraph for each site: its names, and its routes in the order in which they are tried.
    pub fn table(&self) -> String {
        let mut text = String::new();
        for (number, site) in self.sites.iter().enumerate() {
            let separator = if number == 0 { "" } else { "\n" };
            let _ = writeln!(text, "{separator}{} (line {})", self.names(number), site.line);
            if let Some(group) = site.bound {
                let _ = writeln!(text, "  at {} alone", self.own_addresses(group));
            }
            if !site.ahead.denied.is_empty() {
                let denied: Vec<String> = site.ahead.denied.iter().map(written).collect();
                let _ = writeln!(text, "  nobody gets {}", denied.join(", "));
            }
            let rows: Vec<[String; 4]> =
                site.tried().iter().map(|(path, _, route)| self.row(path, &site.routes[*route])).collect();
            let width = |column: usize| rows.iter().map(|row| row[column].chars().count()).max().unwrap_or(0);
            let widths = [width(0), width(1), width(2)];
            for [path, when, action, line] in rows {
                let when = if widths[1] == 0 { String::new() } else { format!("  {when:w$}", w = widths[1]) };
                let _ = writeln!(
                    text,
                    "  {path:p$}{when}  {action:a$}  line {line}",
                    p = widths[0],
                    a = widths[2]
                );
            }
        }
        text
    }

    /// Returns the names that a site answers for.
    pub(super) fn names(&self, number: usize) -> String {
        let names: Vec<String> = self.sites[number].hosts.iter().map(ToString::to_string).collect();
        let beside = self.beside(self.sites[number].bound);
        let rest = if beside.len() == 1 { "every name" } else { "all other names" };
        match (beside.first() == Some(&number), names.is_empty()) {
            (true, true) => rest.to_owned(),
            (true, false) => format!("{}, and {rest}", names.join(", ")),
            _ => names.join(", "),
        }
    }

    /// Returns the numbers of the sites that are found at the addresses of a group, or at the server's addresses.
    pub(super) fn beside(&self, bound: Option<usize>) -> Vec<usize> {
        (0..self.sites.len()).filter(|number| self.sites[*number].bound == bound).collect()
    }

    /// Returns the addresses that a group has to itself, and its name.
    pub(super) fn own_addresses(&self, group: usize) -> String {
        let group = &self.groups[group];
        let all: Vec<String> = group.bind.iter().map(ToString::to_string).collect();
        format!("{} (group {})", all.join(", "), group.name)
    }

    fn row(&self, path: &PathPattern, route: &SiteRoute) -> [String; 4] {
        let mut when = conditions(&route.when);
        if route.is_internal {
            when.push("internal".to_owned());
        }
        if !route.settings.admission().is_open() || route.settings.access.allow_python.is_some() {
            when.push("some clients".to_owned());
        }
        if route.settings.access.auth.is_some() {
            when.push("users".to_owned());
        }
        [written(path), when.join(", "), self.action(&route.action), route.line.to_string()]
    }

    /// Returns the action in a few words.
    pub(super) fn action(&self, action: &SiteAction) -> String {
        match action {
            SiteAction::App(number) => {
                let app = &self.apps[*number];
                let group = self.in_group(app.group);
                let kind = if matches!(app.target, Target::Scripts(_)) { "scripts" } else { "app" };
                format!("{kind} {}{group}", app.text)
            }
            SiteAction::Files(folder) => format!("files {}", folder.display()),
            SiteAction::Cgi(scripts) if scripts.interpreters.is_empty() => {
                format!("cgi {}{}", scripts.folder.display(), self.in_group(scripts.group))
            }
            SiteAction::Cgi(scripts) => {
                let each = |(end, program): &(String, PathBuf)| format!("*{end} by {}", program.display());
                let all: Vec<String> = scripts.interpreters.iter().map(each).collect();
                let (folder, group) = (scripts.folder.display(), self.in_group(scripts.group));
                format!("cgi {folder} ({}){group}", all.join(", "))
            }
            SiteAction::Redirect(status, location) => format!("redirect {status} {location}"),
            SiteAction::Status(status) | SiteAction::Text { status, .. } => format!("respond {status}"),
        }
    }

    fn in_group(&self, group: Option<usize>) -> String {
        group.map_or(String::new(), |group| format!(" in {}", self.groups[group].name))
    }
}

impl Site {
    /// Returns the routes of the site in the order in which they are tried, one for each path: the path, its number in
    /// that order, and the route's number in the file.
    pub fn tried(&self) -> Vec<(PathPattern, usize, usize)> {
        let table = self.table();
        table.iter().enumerate().map(|(tried, (path, route))| (path.clone(), tried, route.number)).collect()
    }

    /// Returns the routes of the site by path.
    pub fn table(&self) -> Routes<TableRoute<'_>> {
        let routes = self.routes.iter().enumerate().map(|(number, route)| TableRoute { number, route });
        let each = routes.flat_map(|each| each.route.paths.iter().map(move |path| (path.clone(), each)));
        Routes::new(each.collect())
    }
}

/// A route in the table of its site.
#[derive(Clone, Copy, Debug)]
pub struct TableRoute<'s> {
    /// The number of the route in the order of the file.
    pub number: usize,
    /// The route.
    pub route: &'s SiteRoute,
}

impl RouteFacts for TableRoute<'_> {
    fn when(&self) -> Option<&When> {
        Some(&self.route.when)
    }

    fn is_folder(&self) -> bool {
        matches!(self.route.action, SiteAction::Files(_))
    }

    fn is_redirect(&self) -> bool {
        matches!(self.route.action, SiteAction::Redirect(..))
    }
}

/// Returns the conditions that a request has to meet, in words.
pub(crate) fn conditions(when: &When) -> Vec<String> {
    let text = |bytes: &[u8]| String::from_utf8_lossy(bytes).into_owned();
    let mut all = Vec::new();
    if !when.methods.is_empty() {
        all.push(when.methods.iter().map(|method| text(method)).collect::<Vec<_>>().join(" "));
    }
    let named = |wanted: &adyton_route::Wanted| {
        format!("{}={}", text(&wanted.name), wanted.value.as_deref().map_or("*".to_owned(), text))
    };
    all.extend(when.fields.iter().map(named));
    all.extend(when.query.iter().map(|wanted| format!("?{}", named(wanted))));
    if !when.remote.is_empty() {
        all.push("some networks".to_owned());
    }
    all
}
