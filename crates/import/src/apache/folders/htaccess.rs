//! The `.htaccess` files of folders: which files count, and which directives are allowed in them.

use std::collections::BTreeMap;
use std::sync::Arc;

use crate::apache::language::line::Line;
use crate::apache::language::{known, lex};
use crate::apache::mapping::{self, Answer};
use crate::apache::section::{Sections, is_beneath, trimmed};
use crate::model::{Draft, Mistake, Place};
use crate::text::include::Includes;

/// Limit of a site's folders that are searched.
const FOLDERS_MAX: usize = 200;

/// Adds the directives of `.htaccess` files to the sections, if `AllowOverride` lets the files count.
pub(crate) fn read(
    lines: &[Line],
    sections: &mut Sections,
    includes: &mut Includes<'_>,
    draft: &mut Draft,
) -> Result<(), Mistake> {
    let names = match names(lines) {
        Ok(names) => names,
        Err(line) => {
            sections.all.push(line.lost(known::NOT_READ));
            return Ok(());
        }
    };
    let mut found: BTreeMap<String, (usize, Arc<str>, String)> = BTreeMap::new();
    for (pattern, base, place) in patterns(lines, sections) {
        for (number, name) in names.iter().enumerate() {
            let Some((front, last)) = name.split_at_checked(name.len().saturating_sub(1)) else { continue };
            // The bracket makes the name a pattern, so the file may be absent.
            let Ok(files) = includes.find(&format!("{pattern}/{front}[{last}]"), &place) else {
                let what = format!("AllowOverride for {base}");
                sections.folder(&base, &[Line::lost_at(known::NOT_READ, &what, &place)]);
                break;
            };
            for file in files {
                let folder = file.name.rsplit_once('/').map_or("", |(folder, _)| folder).to_owned();
                // Of several files in one folder, the file whose name stands first in `AccessFileName` counts.
                if found.get(&folder).is_none_or(|(other, ..)| number < *other) {
                    found.insert(folder, (number, file.name.into(), file.text));
                }
            }
        }
    }
    for (folder, (_, file, text)) in found {
        let overrides = Overrides::of(sections, &folder);
        if !overrides.counts() {
            continue;
        }
        includes.begin(&file, &text)?;
        let inside = lex::read(&file, &text, includes, draft)?;
        includes.end();
        sections
            .folder(&folder, &inside.into_iter().filter_map(|line| overrides.take(line)).collect::<Vec<_>>());
    }
    sections.folders.sort_by_key(|(folder, _)| folder.len());
    Ok(())
}

/// Returns the names of the folders' files; as an error, the line whose names cannot be searched for.
fn names(lines: &[Line]) -> Result<Vec<String>, &Line> {
    let Some(line) = lines.iter().rfind(|line| line.name == "accessfilename") else {
        return Ok(vec![".htaccess".to_owned()]);
    };
    let is_name = |name: &String| {
        name.is_ascii()
            && !name.is_empty()
            && !name.contains(['/', '*', '?', '[', ']', '\\', '$', '{', '!', '^'])
    };
    if line.args.is_empty() || !line.args.iter().all(is_name) {
        return Err(line);
    }
    Ok(line.args.clone())
}

/// Returns patterns of places to search: folders that are served, at every depth, and the folders above them.
fn patterns(lines: &[Line], sections: &Sections) -> Vec<(String, String, Place)> {
    let mut all: Vec<(String, String, Place)> = Vec::new();
    let mut add = |pattern: String, base: &str, place: &Place| {
        if !all.iter().any(|(other, ..)| *other == pattern) {
            all.push((pattern, base.to_owned(), place.clone()));
        }
    };
    for mapping in mapping::read(lines, &mut Draft::default()).iter().take(FOLDERS_MAX) {
        let Some(folder) = mapping.folder(&mapping.path) else { continue };
        let (folder, place) = (trimmed(&folder), &mapping.place);
        if folder.is_empty() || !folder.starts_with('/') || folder.contains(['*', '?', '[', '$']) {
            continue;
        }
        let is_one = matches!(mapping.answer, Answer::File(_) | Answer::Script(..) | Answer::Program { .. });
        if is_one && Overrides::of(sections, folder).counts() {
            add(folder.to_owned(), folder, place);
        } else if !is_one && Overrides::of(sections, folder).counts() | any_beneath(sections, folder) {
            add(format!("{folder}/**"), folder, place);
        }
        for (at, _) in folder.match_indices('/') {
            if Overrides::of(sections, &folder[..at]).counts() {
                add(folder[..at].to_owned(), folder, place);
            }
        }
    }
    all
}

/// Whether a section of a folder beneath this one lets `.htaccess` files count.
fn any_beneath(sections: &Sections, folder: &str) -> bool {
    let mut folders = sections.folders.iter().filter(|(inner, _)| is_beneath(folder, inner));
    folders.any(|(_, lines)| lines.iter().any(lets_count))
}

/// Whether a directive lets `.htaccess` files count.
pub(crate) fn lets_count(line: &Line) -> bool {
    matches!(line.name.as_str(), "allowoverride" | "allowoverridelist") && !line.says(0, "none")
}

/// Directives that are allowed in the file of a folder.
struct Overrides {
    /// Classes of directives, in small letters.
    classes: Vec<String>,
    /// Names of directives that are allowed beside the classes.
    list: Vec<String>,
    /// Whether other directives are ignored, instead of being a fault.
    passes: bool,
}

impl Overrides {
    /// Returns the directives that the sections of a folder allow; the folder's file counts only if they allow some.
    fn of(sections: &Sections, folder: &str) -> Overrides {
        let lines = sections.effective(Some(folder), "");
        let last =
            |name: &str| lines.iter().flat_map(|section| section.iter()).rfind(|line| line.name == name);
        let words = |line: Option<&Line>| -> Vec<String> {
            let words = line.into_iter().flat_map(|line| &line.args).map(|word| word.to_ascii_lowercase());
            words.filter(|word| word != "none").collect()
        };
        let mut classes = words(last("allowoverride"));
        let passes = classes.extract_if(.., |word| word.starts_with("nonfatal=")).count() > 0;
        Overrides { classes, list: words(last("allowoverridelist")), passes }
    }

    fn counts(&self) -> bool {
        !self.classes.is_empty() || !self.list.is_empty()
    }

    /// Returns the line if it is allowed, nothing if it is ignored, or a line for the fault: Apache then answers every
    /// request for the folder with an error.
    fn take(&self, line: Line) -> Option<Line> {
        let is_condition =
            line.is_section && !line.name.starts_with("require") && !line.name.starts_with("limit");
        if is_condition || line.name.starts_with('(') {
            let inside = line.inside.iter().cloned().filter_map(|line| self.take(line)).collect();
            return Some(Line { inside, ..line });
        }
        let class = class(&line.name);
        let has = |word: &String| *word == "all" || word.split('=').next() == Some(class);
        match self.classes.iter().any(has) || self.list.contains(&line.name) {
            true => Some(line),
            false if self.passes => None,
            false => Some(line.lost(known::NOT_ALLOWED)),
        }
    }
}

/// Returns the class of a directive, as `AllowOverride` names it.
fn class(name: &str) -> &'static str {
    const INDEXES: [&str; 22] = [
        "addalt",
        "addaltbyencoding",
        "addaltbytype",
        "adddescription",
        "addicon",
        "addiconbyencoding",
        "addiconbytype",
        "defaulticon",
        "directoryindex",
        "directoryindexredirect",
        "directoryslash",
        "expiresactive",
        "expiresbytype",
        "expiresdefault",
        "fallbackresource",
        "fancyindexing",
        "headername",
        "indexignore",
        "indexoptions",
        "indexorderdefault",
        "indexstylesheet",
        "readmename",
    ];
    match name {
        "allow" | "deny" | "order" => "limit",
        "options" | "xbithack" | "checkspelling" | "filterchain" | "filterdeclare" | "filterprovider" => {
            "options"
        }
        name if INDEXES.contains(&name) => "indexes",
        name if [
            "auth",
            "require",
            "limit",
            "satisfy",
            "sslrequire",
            "session",
            "wsgiauth",
            "wsgiaccess",
        ]
        .iter()
        .any(|front| name.starts_with(front))
            && !name.starts_with("limitrequest") =>
        {
            "authconfig"
        }
        _ => "fileinfo",
    }
}

#[cfg(test)]
mod tests {
    use super::Overrides;
    use crate::apache::language::line::Line;
    use crate::model::Place;

    /// Returns the fate of a directive: `+` stays, `-` is ignored, `!` is a mistake.
    fn taken(words: &str, list: &str, name: &str) -> char {
        let of = |words: &str| words.split_whitespace().map(str::to_owned).collect::<Vec<_>>();
        let place = Place { file: "x".into(), line: 1 };
        let mut classes = of(words);
        let passes = classes.extract_if(.., |word| word.starts_with("nonfatal=")).count() > 0;
        let overrides = Overrides { classes, list: of(list), passes };
        let line = Line { name: name.to_owned(), ..Line::lost_at("", name, &place) };
        match overrides.take(line) {
            None => '-',
            Some(line) if line.name == name => '+',
            Some(_) => '!',
        }
    }

    #[test]
    fn what_may_stand_there() {
        let cases = [
            ("all", "", "require", '+'),
            ("fileinfo", "", "require", '!'),
            ("fileinfo nonfatal=all", "", "require", '-'),
            ("authconfig", "", "require", '+'),
            ("authconfig", "", "satisfy", '+'),
            ("authconfig", "", "deny", '!'),
            ("limit", "", "deny", '+'),
            ("options=indexes", "", "options", '+'),
            ("indexes", "", "directoryindex", '+'),
            ("fileinfo", "", "rewriterule", '+'),
            ("", "redirect", "redirect", '+'),
            ("", "redirect", "require", '!'),
        ];
        for (words, list, name, expected) in cases {
            assert_eq!(expected, taken(words, list, name), "{words} {list} {name}");
        }
    }
}
