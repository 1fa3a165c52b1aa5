//! `httpd.conf` with its included files, and `.htaccess`: virtual hosts become sites; directives for paths and folders,
//! routes.
//!
//! The order of Apache's sections is kept: `Directory` from the shortest on, with `.htaccess`, then `Location` in the
//! order of the file; the last `Require` counts. The directives that count are worked out for each path that a
//! directive is about.
//!
//! | file | holds |
//! | --- | --- |
//! | `language/` | lines, names and conditions of the language, and the directives that are known |
//! | `site`, `mapping`, `matched` | virtual hosts, and paths that are mapped to files and applications |
//! | `section` | directives in a `Directory`, a `Location` or an `.htaccess`: they become keys of a route here |
//! | `settings`, `daemon`, `express` | directives that become settings; those of mod_wsgi's daemon mode and of mod_wsgi-express |
//! | `clients/` | `Require`, `Allow`, `AuthType`, `AuthUserFile` and their kin: which clients are let in |
//! | `folders/` | `.htaccess`: the files that count, the directives that may stand there, and lines that no key of a route has |
//! | `pages` | `ErrorDocument` |

mod clients;
mod daemon;
mod express;
mod folders;
mod language;
mod mapping;
mod matched;
mod pages;
mod section;
mod settings;
mod site;

use self::clients::{remote, secure};
use self::folders::{context, documents, handlers, htaccess, indexes};
use self::language::{lex, names};
use std::sync::Arc;

use adyton_cli::{Scope, takes};

use self::language::line::Line;
use crate::model::{Draft, Keys, Mistake, Place, Site};
use crate::rules::folder_lines::FolderLines;
use crate::rules::reach::{self, Address, Placed};
use crate::text::include::Includes;
use daemon::Owner;
use section::Sections;

/// Whether a text seems to be in this language.
pub(crate) fn is_one(text: &str) -> bool {
    const WORDS: [&str; 8] = [
        "<virtualhost",
        "<directory",
        "<location",
        "<ifmodule",
        "documentroot ",
        "wsgiscriptalias ",
        "loadmodule ",
        "serverroot ",
    ];
    text.lines().any(|line| {
        let line = line.trim_start().to_ascii_lowercase();
        WORDS.iter().any(|word| line.starts_with(word))
    })
}

/// Reads a file and the files that it includes.
pub(crate) fn read(
    file: &Arc<str>,
    text: &str,
    includes: &mut Includes<'_>,
    draft: &mut Draft,
) -> Result<(), Mistake> {
    let lines = lex::read(file, text, includes, draft)?;
    let place = Place { file: Arc::clone(file), line: 1 };
    if context::is_of_folder(file) || draft.folder.is_some() {
        of_folder(&context::sift(lines), &place, draft);
        return Ok(());
    }
    let (hosts, main): (Vec<Line>, Vec<Line>) =
        lines.into_iter().partition(|line| line.name == "virtualhost");
    let mut keys = std::mem::take(&mut draft.server);
    let owner = Owner::of_server(&main);
    settings::take(&main, false, &owner, &mut keys, draft);
    settings::trust_nobody_more(&mut keys, draft);
    let remote = match hosts.as_slice() {
        [only] => {
            let both: Vec<Line> = main.iter().chain(&only.inside).cloned().collect();
            remote::read(&both, &mut keys)
        }
        _ => remote::read(&main, &mut keys),
    };
    draft.server = keys;
    let listens = listens(&main, &place);
    let mut sites = Vec::new();
    if hosts.is_empty() {
        sites.push(placed(&main, &[], &place, &listens, includes, draft)?);
    }
    for host in &hosts {
        sites.push(placed(&main, std::slice::from_ref(host), &host.place, &listens, includes, draft)?);
    }
    for (number, placed) in sites.iter_mut().enumerate() {
        remote.guard(&mut placed.site, draft);
        let own = hosts.get(number).filter(|_| hosts.len() > 1);
        remote::of_one(own.map_or(&[], |host| &host.inside), &mut placed.site, draft);
    }
    let mut sites = reach::without_ways_to_tls(sites, draft);
    reach::keep_from_clear(&mut sites, draft);
    names::settle(&mut sites, draft);
    reach::bind(&mut sites, draft);
    draft.sites = sites.into_iter().map(|placed| placed.site).collect();
    Ok(())
}

/// Makes the site of one folder's `.htaccess`: the site serves that folder, in which the file of sites is taken to lie.
fn of_folder(lines: &[Line], place: &Place, draft: &mut Draft) {
    let apart = draft.folder.take().map(|wanted| apart(lines, wanted));
    let (folder, others) = apart.unzip();
    draft.folder = folder;
    let lines = others.as_deref().unwrap_or(lines);
    let mut with_root = lines.to_vec();
    with_root.push(Line {
        name: "documentroot".to_owned(),
        args: vec![".".to_owned()],
        text: String::new(),
        place: place.clone(),
        inside: Vec::new(),
        is_section: false,
    });
    let sections = Sections::of(&with_root);
    let mut site = Site { place: Some(place.clone()), ..Site::default() };
    draft.lose(
        place,
        ".htaccess",
        "the folder of this file is taken to be the folder of the file of sites, served at /",
    );
    site::routes(&with_root, &sections, &mut site, draft);
    for line in lines.iter().filter(|line| line.name == "errordocument") {
        draft.lose(
            &line.place,
            &line.text,
            "only the server knows which file this path is; write error-pages in the file of sites",
        );
    }
    draft.sites.push(site);
}

/// Splits off the lines that the caller wants separately, and returns them and the other lines.
fn apart(lines: &[Line], wanted: FolderLines) -> (FolderLines, Vec<Line>) {
    let (documents, others) = documents::take(lines);
    let (indexes, others) = indexes::take(others);
    let Some((handlers, others)) = wanted.handlers.map(|_| handlers::take(&others)) else {
        return (FolderLines { handlers: None, documents, indexes }, others);
    };
    (FolderLines { handlers: Some(handlers), documents, indexes }, others)
}

/// Reads a virtual host, or the main server, whose directives count for every host, too.
fn placed(
    main: &[Line],
    host: &[Line],
    place: &Place,
    listens: &[Address],
    includes: &mut Includes<'_>,
    draft: &mut Draft,
) -> Result<Placed, Mistake> {
    let own: &[Line] = host.first().map_or(main, |host| &host.inside);
    let mut site = Site { place: Some(place.clone()), ..Site::default() };
    names(own, &mut site);
    if !host.is_empty() {
        let mut keys = Keys::default();
        let formats = main.iter().filter(|line| line.name == "logformat").cloned();
        let with_formats: Vec<Line> = formats.chain(own.iter().cloned()).collect();
        // A loss in a daemon of one site keeps only that site from being served.
        let before = draft.refused.len();
        settings::take(&with_formats, true, &Owner::of_server(main), &mut keys, draft);
        site.refused = draft.refused.split_off(before);
        site.keys = keys;
    }
    let mut lines: Vec<Line> =
        if host.is_empty() { main.to_vec() } else { main.iter().chain(own).cloned().collect() };
    lines.extend(express::handlers(&lines, includes, draft)?);
    let mut sections = Sections::of(&lines);
    htaccess::read(&lines, &mut sections, includes, draft)?;
    site::routes(&lines, &sections, &mut site, draft);
    pages::read(&lines, &sections, &mut site, draft);
    let tls = lines.iter().rfind(|line| line.name == "sslengine").is_some_and(|line| line.says(0, "on"));
    let addresses = addresses(host.first(), listens, tls);
    let is_way_to_tls = !host.is_empty() && site::is_way_to_tls(&site, own);
    let lost_ways = secure::lost_ways(&lines, &sections);
    Ok(Placed { site, addresses, is_way_to_tls, lost_ways })
}

fn names(lines: &[Line], site: &mut Site) {
    for line in lines.iter().filter(|line| matches!(line.name.as_str(), "servername" | "serveralias")) {
        for name in &line.args {
            let name = name.rsplit("://").next().unwrap_or(name);
            let name = name.split(':').next().unwrap_or(name);
            if takes(Scope::Site, "hosts", name).is_err() {
                site.patterns.push((line.place.clone(), format!("{} {name}", line.name_as_written())));
            } else {
                site.hosts.push(name.to_owned());
            }
        }
    }
}

/// Reads `Listen 80`, `Listen 127.0.0.1:8080`, `Listen 443 https`.
fn listens(main: &[Line], place: &Place) -> Vec<Address> {
    let mut all: Vec<Address> = Vec::new();
    for line in main.iter().filter(|line| line.name == "listen") {
        let first = line.arg(0);
        let is_port = first.bytes().all(|byte| byte.is_ascii_digit());
        let bind = if is_port { format!("0.0.0.0:{first}") } else { first.replacen('*', "0.0.0.0", 1) };
        let tls = line.says(1, "https") || port(&bind) == "443";
        all.push(Address { bind, shown: line.text.clone(), place: line.place.clone(), tls });
    }
    if all.is_empty() {
        all.push(Address {
            bind: "0.0.0.0:80".to_owned(),
            shown: "Listen".to_owned(),
            place: place.clone(),
            tls: false,
        });
    }
    all
}

/// Returns the port of an address.
fn port(address: &str) -> &str {
    match address.rsplit_once(':') {
        Some((host, port)) if !host.contains(':') || host.ends_with(']') => port,
        _ => "",
    }
}

/// Returns the addresses of a host: the addresses of `Listen` that have its port, or all of them.
fn addresses(host: Option<&Line>, listens: &[Address], tls: bool) -> Vec<Address> {
    let Some(host) = host else { return listens.to_vec() };
    let mut all: Vec<Address> = Vec::new();
    for named in &host.args {
        let (name, wanted) = (named.rsplit_once(':').map_or(named.as_str(), |(name, _)| name), port(named));
        let is_every = matches!(name, "*" | "_default_");
        for listen in
            listens.iter().filter(|listen| matches!(wanted, "" | "*") || port(&listen.bind) == wanted)
        {
            let bind = if is_every { listen.bind.clone() } else { format!("{name}:{}", port(&listen.bind)) };
            all.push(Address { bind, tls: listen.tls || tls, ..listen.clone() });
        }
    }
    // A host whose port no `Listen` names has no address: no client can reach the host in Apache, so no client needs to
    // reach it in Adyton.
    for address in &mut all {
        address.place = host.place.clone();
        address.shown.clone_from(&host.text);
    }
    all
}

#[cfg(test)]
mod tests {
    use super::port;

    #[test]
    fn ports() {
        let cases = [("*:80", "80"), ("[::1]:81", "81"), ("::1", ""), ("*", "")];
        for (address, expected) in cases {
            assert_eq!(expected, port(address), "{address}");
        }
    }
}
