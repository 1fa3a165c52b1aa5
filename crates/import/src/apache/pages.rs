//! `ErrorDocument`: pages for errors of the server itself.

use super::mapping::{self, Answer};
use super::section::{Around, Sections};
use crate::apache::language::line::Line;
use crate::model::{Draft, Site, has_end};
use crate::rules::pages;

/// Takes the error pages of a site; the last line for each status counts.
pub(super) fn read(lines: &[Line], sections: &Sections, site: &mut Site, draft: &mut Draft) {
    let all: Vec<&Line> = sections.all.iter().filter(|line| line.name == "errordocument").collect();
    for (at, line) in all.iter().enumerate() {
        let is_last = !all[at + 1..].iter().any(|later| later.arg(0) == line.arg(0));
        if !is_last || line.says(1, "default") {
            continue;
        }
        match file(line, lines, sections) {
            Ok(file) => {
                site.keys.pair("error-pages", line.arg(0), &file, &line.place);
                if line.arg(0) == "404" {
                    site.routes.iter_mut().for_each(|route| pages::missing(route, &file, &line.place));
                }
            }
            Err(why) => draft.lose(&line.place, &line.text, why),
        }
    }
}

/// Returns the file of a page, if every client may have the file, and files with such a name are sent unchanged.
fn file(line: &Line, lines: &[Line], sections: &Sections) -> Result<String, &'static str> {
    let is_error = line.arg(0).parse::<u16>().is_ok_and(|status| (400..600).contains(&status));
    let path = line.arg(1);
    if !is_error {
        return Err("pages are for statuses from 400 on");
    }
    if path.contains("://") {
        return Err("an error cannot be answered with a redirect; write error-pages = { STATUS = \"FILE\" }");
    }
    if !path.starts_with('/') || line.args.len() != 2 {
        return Err("put the text into a file, and write error-pages = { STATUS = \"FILE\" }");
    }
    let mappings = mapping::read(lines, &mut Draft::default());
    let found = mappings.iter().find(|mapping| mapping.has(path)).ok_or("nothing answers that path")?;
    let (Answer::Folder(_), Some(file)) = (&found.answer, found.folder(path)) else {
        return Err("an error page must be a file; write error-pages = { STATUS = \"FILE\" }");
    };
    let end = pages::ENDS.into_iter().find(|end| has_end(path, end));
    let Some(end) = end.filter(|_| !file.contains(['?', '%']) && file.starts_with('/')) else {
        return Err("an error page must be a file that is sent as it is, such as one that ends in .html");
    };
    let folder = file.rsplit_once('/').map_or("", |(folder, _)| folder);
    let effective = sections.of_file(Some(folder), &file, path);
    let handles = |line: &&Line| {
        matches!(line.name.as_str(), "addhandler" | "addoutputfilter")
            && line.args.iter().skip(1).any(|other| other.trim_start_matches('.') == end)
    };
    let is_handled = effective.iter().flat_map(|section| section.iter()).find(handles).is_some();
    let around = Around::of(&effective);
    if is_handled || around.handler.is_some() {
        return Err("an error page must be a file that is sent as it is");
    }
    if !around.is_open() {
        return Err("some clients are denied that page, but an error page is sent to everybody");
    }
    Ok(file)
}
