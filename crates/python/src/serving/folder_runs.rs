//! What folders say of files that are run, as the loops have it.

use std::path::PathBuf;

use adyton_cli::FolderRuns;
use adyton_files::runs::{Others, Runs, is_shown};
use adyton_server::RunRule;

/// Which files of a folder are run that says this, if these programs may run them.
///
/// # Errors
///
/// It names another program, or a file that is a page for all others.
pub(super) fn run_rule(said: &FolderRuns, programs: &[PathBuf]) -> Result<Option<RunRule>, String> {
    let FolderRuns { cgi, interpreters } = said;
    if *cgi == Some(false) {
        return Ok(Some(RunRule::Off));
    }
    if cgi.is_none() && interpreters.is_empty() {
        return Ok(None);
    }
    let mut runs = Runs::default();
    if *cgi == Some(true) {
        runs.others = Others::ShownAreSent;
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
        runs.ends.push((end.to_ascii_lowercase().into_bytes(), Some(program.clone())));
    }
    Ok(Some(RunRule::On(runs)))
}
