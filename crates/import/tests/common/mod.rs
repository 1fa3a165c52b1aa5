//! Runs importers on the cases of a folder, and has the command line read what they write.

#![allow(dead_code, reason = "each test uses a part of it")]
#![allow(
    clippy::expect_used,
    clippy::unwrap_used,
    clippy::panic,
    reason = "a test ends at its first surprise"
)]

use std::fs;
use std::path::{Path, PathBuf};

use adyton_import::{Found, Import, Kind, import};

/// Imports a text that includes these files.
pub(crate) fn with_files(
    kind: Kind,
    name: &str,
    text: &str,
    files: &[(&str, &str)],
) -> Result<Import, String> {
    let mut include = |pattern: &str| -> Result<Vec<Found>, String> {
        let is_one = |name: &str| {
            let parts = |path: &str| path.split('/').map(str::to_owned).collect::<Vec<_>>();
            fits(&parts(pattern), &parts(name))
        };
        let found = files.iter().filter(|(name, _)| is_one(name));
        Ok(found.map(|(name, text)| Found { name: (*name).to_owned(), text: (*text).to_owned() }).collect())
    };
    import(kind, name, text, &mut include).map_err(|mistake| mistake.to_string())
}

/// Whether a path matches a pattern, part by part; `**` is any number of parts.
fn fits(pattern: &[String], name: &[String]) -> bool {
    match (pattern.split_first(), name.split_first()) {
        (Some((any, rest)), _) if any == "**" => {
            fits(rest, name) || name.split_first().is_some_and(|(_, behind)| fits(pattern, behind))
        }
        (Some((one, rest)), Some((other, behind))) => {
            adyton_import::matches(one, other) && fits(rest, behind)
        }
        (None, None) => true,
        _ => false,
    }
}

/// Pages for errors that exist.
pub(crate) const PAGES: [(&str, &str); 8] = [
    ("/srv/404.html", ""),
    ("/srv/500.html", ""),
    ("/srv/a/404.html", ""),
    ("/srv/a/errors/404.html", ""),
    ("/srv/e/500.html", ""),
    ("/srv/errors/404.html", ""),
    ("/srv/www/50x.html", ""),
    ("/usr/share/50x.html", ""),
];

/// Panics unless the text is right as a file of sites, except for applications and folders that are not here.
pub(crate) fn check(text: &str) {
    let words = ["check", "site.toml"].map(str::to_owned);
    let Err(failure) = adyton_cli::parse(&words, &[], false, Some(text.into())) else { return };
    for sentence in failure.sentences() {
        let is_absent = ["there is no ", "is no folder", "is a folder", "is not a file of Python"];
        assert!(is_absent.iter().any(|words| sentence.contains(words)), "{sentence}\n{text}");
    }
}

/// A configuration with a restriction that a file of sites cannot say, and the path that has to refuse because of it.
#[derive(Clone, Copy)]
pub(crate) struct Opening<'t> {
    pub(crate) text: &'t str,
    /// The line that the error names.
    pub(crate) line: usize,
    /// The path of a route that refuses everybody; empty: all routes do.
    pub(crate) path: &'t str,
}

/// Checks that each case is an error that names its line, and that its path answers 503 in the result.
pub(crate) fn openings(kind: Kind, name: &str, files: &[(&str, &str)], cases: &[Opening<'_>]) {
    for Opening { text, line, path } in cases {
        let made = with_files(kind, name, text, files).unwrap();
        let place = format!("{name}:{line}");
        let is_told = made.losses.iter().any(|loss| loss.opens && loss.place.to_string() == place);
        let routes: Vec<&str> = made.text.split("\n[[sites.routes]]").skip(1).collect();
        let own = |route: &&&str| match *path {
            "" => true,
            "/" => !route.lines().nth(1).unwrap_or_default().starts_with("path = "),
            path => route.lines().nth(1).unwrap_or_default().contains(&format!("\"{path}\"")),
        };
        let of_place: Vec<&&str> = routes.iter().filter(own).collect();
        let refuses = |route: &&&str| {
            route.contains("\n# Refused, because this was lost: ") && route.contains("\nrespond = 503\n")
        };

        assert!(is_told, "{text}\nno error names {place}\n{}", made.text);
        assert!(!of_place.is_empty(), "{text}\nnothing is for {path}\n{}", made.text);
        assert!(of_place.iter().all(refuses), "{text}\n{path} is served\n{}", made.text);
        check(&made.text);
    }
}

/// Checks that each case has no error, and that its result contains the expected text.
pub(crate) fn kept(kind: Kind, name: &str, files: &[(&str, &str)], cases: &[(&str, &str)]) {
    for (text, expected) in cases {
        let made = with_files(kind, name, text, files).unwrap();

        assert!(!made.opens(), "{text}\n{}", made.text);
        assert!(made.text.contains(expected), "{text}\n{expected} is missing\n{}", made.text);
        check(&made.text);
    }
}

/// Runs a folder of cases: beside each configuration lies the exact file that is made of it.
///
/// With `ADYTON_WRITE_CASES` the files are written anew; then look at the changes.
pub(crate) fn cases(kind: Kind, folder: &str) {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/cases").join(folder);
    let entries = fs::read_dir(&folder).unwrap().map(|entry| entry.unwrap().path());
    let mut files: Vec<PathBuf> =
        entries.filter(|path| path.extension().is_none_or(|end| end != "toml")).collect();
    files.sort();
    assert!(files.len() >= 2, "cases are missing in {}", folder.display());
    for file in files {
        let name = file.file_name().unwrap().to_str().unwrap();
        let text = fs::read_to_string(&file).unwrap();
        let made = with_files(kind, name, &text, &PAGES).unwrap();
        check(&made.text);
        let golden = folder.join(format!("{}.toml", name.trim_start_matches('.').split('.').next().unwrap()));
        if std::env::var_os("ADYTON_WRITE_CASES").is_some() {
            fs::write(&golden, &made.text).unwrap();
        }
        let expected = fs::read_to_string(&golden).unwrap_or_default();

        assert!(expected == made.text, "{name}: expected:\n{expected}\nfound:\n{}", made.text);
    }
}
