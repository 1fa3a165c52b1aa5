//! The listing of a folder, as a page that needs no other file and shows names, sizes and dates.

use std::fmt::Write;
use std::io;
use std::os::fd::BorrowedFd;

use adyton_sys::fs::{Kind, Meta, Root, Symlinks, list};

use crate::answer::conditions::format_date;
use crate::answer::pages::{PAGE_START, escape_html};
use crate::path::{FilePath, escape, is_published};
use crate::run::sources::Kept;

/// The most names in one listing. Each name takes 1.1 µs, including its stat, so 1,000 names hold up an event loop for
/// a millisecond. No reader scrolls further.
pub const NAMES_MAX: usize = 1000;

/// One row of a listing.
struct Row {
    name: Vec<u8>,
    is_folder: bool,
    bytes: u64,
    /// Last change, seconds since 1970.
    modified_s: u64,
}

/// Reads the open folder that `path` names and renders it.
///
/// Shows exactly the names that a request would get: no hidden names, no sources, no files that another route runs, no
/// devices, and links only if they are followed and lead to something beneath the root.
///
/// # Errors
///
/// Errors of reading the folder.
pub(crate) fn render(
    root: &Root,
    kept: Kept<'_>,
    path: &FilePath,
    title: &str,
    folder: BorrowedFd<'_>,
) -> io::Result<String> {
    let found = list(folder, NAMES_MAX + 1)?;
    let is_cut = found.len() > NAMES_MAX;
    let published = |(name, meta): (std::ffi::CString, Meta)| {
        let name = name.into_bytes();
        if !is_published(&name) {
            return None;
        }
        let meta = match meta.kind {
            Kind::Link if kept.links == Symlinks::Follow => {
                root.stat_beneath(&path.join(&name).to_c(), kept.links).ok()?
            }
            _ => meta,
        };
        let is_folder = meta.kind == Kind::Folder;
        let modified_s = u64::try_from(meta.mtime_ns / 1_000_000_000).unwrap_or(0);
        let is_sent = || meta.kind == Kind::File && !kept.has(path.join(&name).relative(), &meta);
        let is_shown = is_folder || is_sent();
        is_shown.then_some(Row { name, is_folder, bytes: meta.bytes, modified_s })
    };
    let mut rows: Vec<Row> = found.into_iter().take(NAMES_MAX).filter_map(published).collect();
    rows.sort_by_cached_key(|row| {
        (!row.is_folder, String::from_utf8_lossy(&row.name).to_lowercase(), row.name.clone())
    });
    Ok(page(title, &rows, Notes { has_parent: !path.relative().is_empty(), is_cut }))
}

/// Notes that a page may show after its rows.
#[derive(Clone, Copy)]
struct Notes {
    has_parent: bool,
    is_cut: bool,
}

fn page(title: &str, rows: &[Row], notes: Notes) -> String {
    let title = escape_html(title);
    let mut page = format!(
        "{PAGE_START}<title>{title}</title>\n<style>{STYLE}</style>\n</head>\n<body>\n<h1>{title}</h1>\n\
         <table>\n<thead><tr><th>Name</th><th>Size</th><th>Changed (UTC)</th></tr></thead>\n<tbody>\n"
    );
    if notes.has_parent {
        page.push_str("<tr><td><a href=\"../\">../</a></td><td></td><td></td></tr>\n");
    }
    for row in rows {
        let slash = if row.is_folder { "/" } else { "" };
        let size = if row.is_folder { String::new() } else { size(row.bytes) };
        // The prefix `./` keeps a name like `a:b` from being read as a URL of scheme `a`.
        let written = writeln!(
            page,
            "<tr><td><a href=\"./{}{slash}\">{}{slash}</a></td><td>{size}</td><td>{}</td></tr>",
            escape(&row.name),
            escape_html(&shown(&row.name)),
            date(row.modified_s),
        );
        debug_assert!(written.is_ok(), "writing to a String cannot fail");
    }
    page.push_str("</tbody>\n</table>\n");
    if rows.is_empty() {
        page.push_str("<p>This folder is empty.</p>\n");
    }
    if notes.is_cut {
        page.push_str("<p>This folder holds more names than are shown here.</p>\n");
    }
    page.push_str("</body>\n</html>\n");
    page
}

/// A name as it is shown to a reader: bytes that are not UTF-8 become U+FFFD.
pub(crate) fn shown(name: &[u8]) -> String {
    String::from_utf8_lossy(name).replace(char::is_control, "\u{fffd}")
}

/// The size in the form `13 B` or `4.2 KiB`, with at most three digits before the unit.
fn size(bytes: u64) -> String {
    const UNITS: [&str; 6] = ["KiB", "MiB", "GiB", "TiB", "PiB", "EiB"];
    if bytes < 1024 {
        return format!("{bytes} B");
    }
    let (mut tenths, mut unit) = (u128::from(bytes) * 10 / 1024, 0);
    while tenths >= 10_240 {
        tenths /= 1024;
        unit += 1;
    }
    format!("{}.{} {}", tenths / 10, tenths % 10, UNITS[unit])
}

/// The date in the form `20 Nov 2026 10:55`: an HTTP date without its weekday, seconds and zone.
fn date(seconds: u64) -> String {
    format_date(seconds).and_then(|date| date.get(5..22).map(str::to_owned)).unwrap_or_default()
}

const STYLE: &str = "\
    body { font: 1rem/1.5 system-ui, sans-serif; margin: 2rem auto; max-width: 60rem; padding: 0 1rem } \
    h1 { font-size: 1.25rem; overflow-wrap: anywhere } \
    table { border-collapse: collapse; width: 100% } \
    th, td { border-bottom: 1px solid color-mix(in srgb, currentColor 15%, transparent); padding: .25rem .5rem; text-align: left } \
    td:first-child { overflow-wrap: anywhere } \
    th:nth-child(n+2), td:nth-child(n+2) { font-variant-numeric: tabular-nums; text-align: right; white-space: nowrap } \
    a { text-decoration: none } a:hover { text-decoration: underline }";
