//! Rules of folders about which files are run, in the form of the loops.

use std::path::PathBuf;
use std::sync::Arc;

use adyton_cli::{FolderRuns, MaySet, add_index};
use adyton_files::INDEX;
use adyton_files::runs::{ByEnd, Others, Runs, is_shown};
use adyton_import::{FolderHandlers, Handler, Indexes};
use adyton_server::{PageRule, ProgramRule, RunRules};

/// Reads the rules of an `.adyton.toml`; `programs` may run files.
///
/// # Errors
///
/// The file names another program, or an ending of files that are always sent.
pub(super) fn own(said: &FolderRuns, programs: &[PathBuf]) -> Result<RunRules, String> {
    let FolderRuns { cgi, interpreters, scripts, index: _ } = said;
    let pages = PageRule { py: *scripts, wsgi: *scripts, asks_for_programs: false };
    if *cgi == Some(false) {
        return Ok(RunRules { programs: ProgramRule::Off, pages });
    }
    if cgi.is_none() && interpreters.is_empty() {
        return Ok(RunRules { programs: ProgramRule::AsAround, pages });
    }
    let mut runs = Runs { may: Some(true), ..Runs::default() };
    if *cgi == Some(true) {
        runs.others = Some(Others::ShownAreSent);
    }
    for (end, program) in interpreters {
        if !programs.contains(program) {
            return Err(format!(
                "cgi: *{end}: the site would have to allow {} with cgi-interpreters",
                program.display()
            ));
        }
        if is_shown(end.as_bytes()) {
            return Err(format!("cgi: *{end}: files with such names are sent; choose another end"));
        }
        runs.ends.push((end.to_ascii_lowercase().into_bytes(), ByEnd::Run(Some(program.clone()))));
    }
    Ok(RunRules { programs: ProgramRule::On(Arc::new(runs)), pages })
}

/// Reads the rules of an `.htaccess`, if it may have some.
///
/// # Errors
///
/// Lines that the file may not have, or that are not known here: a sentence for each.
pub(super) fn apache(said: &FolderHandlers, may: MaySet) -> Result<RunRules, Vec<String>> {
    let mut mistakes: Vec<String> =
        said.unknown.iter().map(|line| format!("{line}: there is no such handler here")).collect();
    let all = said.all.flatten();
    let named = || said.ends.iter().map(|(_, handler)| *handler).chain(all);
    for (handler, is_allowed, word) in
        [(Handler::Cgi, may.lets_run(), "cgi"), (Handler::Wsgi, may.lets_have_pages(), "scripts")]
    {
        if named().any(|other| other == handler) && !is_allowed {
            mistakes
                .push(format!("files are run: the site would have to allow it with htaccess = [{word:?}]"));
        }
    }
    let mut pages = PageRule { asks_for_programs: true, ..PageRule::default() };
    let mut runs = Runs { may: said.executes, ..Runs::default() };
    for (end, handler) in &said.ends {
        if *handler == Handler::Cgi && is_shown(end.as_bytes()) {
            mistakes.push(format!("*{end}: files with such names are sent; choose another end"));
        }
        let python = match end.as_str() {
            ".py" => Some(&mut pages.py),
            ".wsgi" => Some(&mut pages.wsgi),
            _ => None,
        };
        match (handler, python) {
            (Handler::Wsgi, None) => {
                mistakes.push(format!("*{end}: names of Python pages end in .py or .wsgi here"));
            }
            (_, Some(python)) => *python = Some(*handler == Handler::Wsgi),
            (_, None) => {}
        }
        let way = if *handler == Handler::Cgi { ByEnd::Run(None) } else { ByEnd::AsOthers };
        // The last of two lines about one ending counts.
        runs.ends.insert(0, (end.clone().into_bytes(), way));
    }
    if said.all.is_some() {
        let is_page = all == Some(Handler::Wsgi);
        (pages.py, pages.wsgi) = (Some(is_page), Some(is_page));
    }
    runs.others = match said.all {
        None | Some(Some(Handler::Default)) => None,
        Some(None) => Some(Others::Sent),
        Some(Some(Handler::Cgi)) => Some(Others::Run),
        Some(Some(Handler::Wsgi)) => Some(Others::Refused),
    };
    if !mistakes.is_empty() {
        return Err(mistakes);
    }
    let programs = match all {
        Some(Handler::Default) => ProgramRule::Off,
        _ if runs == Runs::default() => ProgramRule::AsAround,
        _ => ProgramRule::On(Arc::new(runs)),
    };
    Ok(RunRules { programs, pages })
}

/// Names of index files of a folder, in the form of the loops.
pub(super) fn indexes(names: &[String]) -> Arc<[Box<[u8]>]> {
    names.iter().map(|name| name.as_bytes().into()).collect()
}

/// Reads the `DirectoryIndex` lines of an `.htaccess`, if it may have some.
///
/// # Errors
///
/// The lines name something else than a file of the folder, or the site does not allow them.
pub(super) fn apache_indexes(said: &Indexes, may: MaySet) -> Result<Arc<[Box<[u8]>]>, String> {
    let told = |why: &str| format!("{}: {}: {why}", said.place, said.text);
    // `INDEX` answers without being named, too.
    if !may.lets_name_indexes() && said.names != [INDEX] {
        return Err(told("the site would have to allow it with htaccess = [\"index\"]"));
    }
    let mut names = Vec::new();
    for name in &said.names {
        if name == "none" {
            return Err(told("a file of this name cannot answer for its folder here"));
        }
        add_index(&mut names, name).map_err(|why| told(&why))?;
    }
    Ok(indexes(&names))
}
