//! Files of `adyton bench`: reports in the form that their names say, kept reports, the summary of a job.

use std::fs::OpenOptions;
use std::io::{self, Write as _};
use std::path::{Path, PathBuf};

use adyton_bench::{Baseline, Judged, Plan, Report};
use adyton_cli::bench::Bench;
use adyton_log::stamp::Stamp;

use super::outcome::{BAD, Wrong, json};

/// Folder of kept reports, in the working directory.
const KEPT: &str = ".adyton-bench";

/// The variable of GitHub's jobs that names the file for a summary in Markdown.
const SUMMARY: &str = "GITHUB_STEP_SUMMARY";

/// The form of a file, by its name.
#[derive(Clone, Copy)]
pub(super) enum Form {
    Html,
    Json,
    Markdown,
    Csv,
    Hlog,
}

impl Form {
    pub(super) fn of(path: &Path) -> Result<Self, String> {
        match path.extension().and_then(|extension| extension.to_str()) {
            Some("html") => Ok(Self::Html),
            Some("json") => Ok(Self::Json),
            Some("md") => Ok(Self::Markdown),
            Some("csv") => Ok(Self::Csv),
            Some("hlog") => Ok(Self::Hlog),
            _ => Err(format!(
                "--output {}: the name must end in .html, .json, .md, .csv or .hlog",
                path.display()
            )),
        }
    }

    pub(super) fn render(self, report: &Report, judged: Judged<'_>) -> String {
        match self {
            Self::Html => adyton_bench::html(report, judged).unwrap_or_else(|error| error.to_string()),
            Self::Json => json(report.to_json()),
            Self::Markdown => adyton_bench::markdown(report, judged),
            Self::Csv => adyton_bench::csv(report),
            Self::Hlog => adyton_bench::hlog(report).unwrap_or_else(|error| error.to_string()),
        }
    }
}

/// Checks that all files to write after a run can be written, so that no measurement is in vain.
///
/// # Errors
///
/// A sentence that names the file that cannot be written.
pub(super) fn check(bench: &Bench) -> Result<(), String> {
    let refused = |what: &str, path: &Path, error| format!("{what} {}: {error}", path.display());
    for path in &bench.output {
        try_writing(path).map_err(|error| refused("--output", path, error))?;
    }
    if let Some(path) = std::env::var_os(SUMMARY).map(PathBuf::from) {
        try_writing(&path).map_err(|error| refused(SUMMARY, &path, error))?;
    }
    let Some(name) = &bench.save else { return Ok(()) };
    let is_new = !Path::new(KEPT).exists();
    let path = kept_path(name);
    let tried = std::fs::create_dir_all(KEPT).and_then(|()| try_writing(&path));
    if is_new {
        // The folder is empty, or it was not made and cannot be removed.
        let _ = std::fs::remove_dir(KEPT);
    }
    tried.map_err(|error| refused("--save", &path, error))
}

/// Opens a file for writing, and removes it again if it was not there before. A path that is no file, such as a pipe,
/// is not opened, because its reader might notice.
fn try_writing(path: &Path) -> io::Result<()> {
    let former = std::fs::metadata(path);
    if former.as_ref().is_ok_and(|metadata| !metadata.is_file() && !metadata.is_dir()) {
        return Ok(());
    }
    OpenOptions::new().create(true).append(true).open(path)?;
    if former.is_err() { std::fs::remove_file(path) } else { Ok(()) }
}

pub(super) fn write(path: &Path, text: &str) -> Result<(), Wrong> {
    std::fs::write(path, text).map_err(|error| (format!("{}: {error}", path.display()), BAD))
}

/// Adds the report to the summary of a GitHub job, if this is one.
pub(super) fn summarize(report: &Report, judged: Judged<'_>) -> Result<(), Wrong> {
    let Some(path) = std::env::var_os(SUMMARY) else { return Ok(()) };
    let file = OpenOptions::new().create(true).append(true).open(&path);
    let written = file.and_then(|mut file| file.write_all(adyton_bench::markdown(report, judged).as_bytes()));
    written.map_err(|error| (format!("{SUMMARY}: {}: {error}", path.display()), BAD))
}

/// The time now (RFC 3339, UTC).
pub(super) fn date() -> String {
    let now = std::time::SystemTime::now().duration_since(std::time::UNIX_EPOCH);
    let stamp = Stamp::at(now.map_or(0, |since| since.as_secs()));
    String::from_utf8_lossy(stamp.rfc3339()).into_owned()
}

/// Keeps a report under a name.
pub(super) fn keep(name: &str, report: &Report) -> Result<(), Wrong> {
    std::fs::create_dir_all(KEPT).map_err(|error| (format!("{KEPT}: {error}"), BAD))?;
    write(&kept_path(name), &json(report.to_json()))
}

fn kept_path(name: &str) -> PathBuf {
    Path::new(KEPT).join(format!("{name}.json"))
}

/// Reads a kept report, if it was made with the same plan.
pub(super) fn kept(name: &str, plan: &Plan) -> Result<Baseline, String> {
    let path = kept_path(name);
    let text = std::fs::read_to_string(&path);
    let text =
        text.map_err(|error| format!("--baseline {name}: {}: {error}; --save keeps one", path.display()))?;
    let baseline = Baseline::from_json(&text).and_then(|baseline| {
        baseline.check(plan)?;
        Ok(baseline)
    });
    baseline.map_err(|why| format!("--baseline {name}: {}: {why}", path.display()))
}
