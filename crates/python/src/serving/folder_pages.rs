//! Error pages that files of folders name, in the form of the loops.

use std::fs::File;
use std::io::{self, Read as _};
use std::path::{Component, Path, PathBuf};

use adyton_cli::MaySet;
use adyton_files::path::is_published;
use adyton_files::runs::is_shown;
use adyton_files::{Sources, mime_type};
use adyton_import::{Document, ErrorDocument};
use adyton_log::{self as log, messages};
use adyton_server::{FolderFile, FolderPage, FolderRules, StatusPage};
use adyton_sys::fs::open_regular;

/// Largest error page of a folder; each one is kept in memory.
const PAGE_BYTES_MAX: u64 = 64 << 10;

/// Media type of a text in an `.htaccess`: Apache sends it as HTML.
const TEXT_TYPE: &str = "text/html; charset=utf-8";

/// Reads the error pages that a folder's file names.
#[derive(Clone, Copy)]
pub(super) struct FolderPages<'f> {
    pub(super) file: &'f FolderFile<'f>,
    /// Names of all files that hold settings of folders.
    pub(super) names: &'f [String],
    /// Files that routes of the site run.
    pub(super) sources: &'f [Sources],
}

impl FolderPages<'_> {
    /// Reads the pages of an `.adyton.toml`; `may_run`: folders may have files run.
    ///
    /// # Errors
    ///
    /// A page is absent, or its file may not be a page.
    pub(super) fn own(
        self,
        pages: &[(u16, PathBuf)],
        may_run: bool,
        rules: &mut FolderRules,
    ) -> Result<(), String> {
        for (status, page) in pages {
            // A folder above may have files run by a program, and no error page may send their source text.
            if may_run && !has_shown_name(page) {
                return Err(format!(
                    "error-pages: {status}={}: no such file is sent where folders may have files run; name \
                     it as page.html",
                    page.display()
                ));
            }
            let taken = self.take_file(*status, page, rules);
            taken.map_err(|why| format!("error-pages: {status}={}: {why}", page.display()))?;
            rules.others.push(self.file.folder.join(page));
        }
        Ok(())
    }

    /// Reads the `ErrorDocument` lines of an `.htaccess`, if it may have some. Returns sentences about absent pages,
    /// which the server's own pages replace.
    ///
    /// # Errors
    ///
    /// Lines that the file may not have, or that name no page here: a sentence for each.
    pub(super) fn apache(
        self,
        documents: &[ErrorDocument],
        may: MaySet,
        rules: &mut FolderRules,
    ) -> Result<Vec<String>, Vec<String>> {
        let (mut absent, mut mistakes) = (Vec::new(), Vec::new());
        for document in documents {
            let told = |why: &str| format!("{}: {}: {why}", document.place, document.text);
            let taken = if may.lets_have_error_pages() {
                self.take(document, rules)
            } else {
                Err("the site would have to allow it with htaccess = [\"errors\"]".to_owned())
            };
            match taken {
                Ok(true) => {}
                Ok(false) => absent.push(told("there is no such file, so the server's own page is sent")),
                Err(why) => mistakes.push(told(&why)),
            }
        }
        if mistakes.is_empty() { Ok(absent) } else { Err(mistakes) }
    }

    /// Takes a line `ErrorDocument`; returns whether its page is there.
    fn take(self, document: &ErrorDocument, rules: &mut FolderRules) -> Result<bool, String> {
        let Some(status) = document.status else {
            return Err("pages are for statuses from 400 to 599".to_owned());
        };
        match &document.document {
            Document::Default => rules.without_pages_for.push(status),
            Document::Path(path) => return self.take_path(status, path, rules),
            Document::Text(text) if text.contains("%{") || text.contains("${") => {
                return Err("a text with variables is not supported; write the text without them".to_owned());
            }
            Document::Text(text) => {
                let page =
                    StatusPage { status, content_type: TEXT_TYPE.into(), body: text.as_bytes().into() };
                rules.pages.push(FolderPage { page, path: None });
            }
            Document::Url => {
                return Err(
                    "an error is not a redirect; write the path of a page in this folder, or [[redirects]]"
                        .to_owned(),
                );
            }
            Document::Malformed => {
                return Err(
                    "write a status and a path, as in ErrorDocument 404 /missing.html, or a text in quotes"
                        .to_owned(),
                );
            }
        }
        Ok(true)
    }

    /// Takes a page by its path within the site; returns whether the page is there.
    fn take_path(self, status: u16, path: &str, rules: &mut FolderRules) -> Result<bool, String> {
        let file = self.file;
        if path.contains(['%', '?', '#']) {
            return Err("a page is a file by its name, without escapes and without a query".to_owned());
        }
        let beneath = path.as_bytes().strip_prefix(file.url).and_then(|rest| rest.strip_prefix(b"/"));
        let page = beneath.and_then(|rest| path.get(path.len() - rest.len()..)).map(Path::new);
        let Some(page) = page.filter(|page| page.components().next().is_some()) else {
            return Err(format!(
                "a page is a file in this folder or beneath it, whose path begins with {}/",
                file.url.escape_ascii()
            ));
        };
        if !has_shown_name(page) {
            return Err("an error page must be a file that is sent as it is, such as one that ends in .html"
                .to_owned());
        }
        let place = file.folder.join(page);
        // A folder on the way with settings of its own may keep clients from the page.
        for inner in page.ancestors().skip(1).filter(|inner| !inner.as_os_str().is_empty()) {
            for name in self.names {
                let settings = file.folder.join(inner).join(name);
                if settings.symlink_metadata().is_ok() {
                    return Err(format!(
                        "the folder {} has a file {name}, which may keep clients from the page; put the page \
                         elsewhere",
                        inner.display()
                    ));
                }
                rules.others.push(settings);
            }
        }
        rules.others.push(place.clone());
        if is_absent(&place) {
            return Ok(false);
        }
        self.take_file(status, page, rules)?;
        Ok(true)
    }

    /// Takes a file of the folder as a page. If a route of the site runs the file, this is logged instead.
    fn take_file(self, status: u16, page: &Path, rules: &mut FolderRules) -> Result<(), String> {
        let place = self.file.folder.join(page);
        let read = read_page(status, page, &place)?;
        if Sources::have(self.sources, &std::path::absolute(&place).unwrap_or_else(|_| place.clone())) {
            log::write(
                &messages::PAGE_IS_RUN,
                format_args!(
                    "{}: it is run, and its text is never sent; the answer is without it",
                    place.display()
                ),
            );
            return Ok(());
        }
        // The folders on the way to the page are looked up by plain names, so `.` and doubled slashes are removed.
        let page: PathBuf = page.components().collect();
        let path = Some(page.as_os_str().as_encoded_bytes().into());
        rules.pages.push(FolderPage { page: read, path });
        Ok(())
    }
}

/// Whether a path is absent.
fn is_absent(path: &Path) -> bool {
    let absent = [io::ErrorKind::NotFound, io::ErrorKind::NotADirectory];
    path.symlink_metadata().is_err_and(|error| absent.contains(&error.kind()))
}

/// Whether a file with this name is sent even where folders may have files run.
fn has_shown_name(page: &Path) -> bool {
    page.file_name().is_some_and(|name| is_shown(name.as_encoded_bytes()))
}

/// Whether a path has only plain names, so that it leads to a place beneath its folder.
pub(super) fn is_beneath(path: &Path) -> bool {
    path.components().all(|part| matches!(part, Component::Normal(_)))
}

/// Reads the page for a status, which clients can request as well.
fn read_page(status: u16, page: &Path, place: &Path) -> Result<StatusPage, String> {
    let is_shown = page.iter().all(|name| is_published(name.as_encoded_bytes()));
    if !is_beneath(page) || !is_shown {
        return Err(
            "a page is a file in the folder or beneath it, of a name that clients may request".to_owned()
        );
    }
    let is_link = |path: &Path| path.symlink_metadata().is_ok_and(|meta| meta.is_symlink());
    let depth = page.components().count();
    if place.ancestors().take(depth).any(is_link) {
        return Err("symbolic links are not followed".to_owned());
    }
    let opened = open_regular(place).map_err(|error| error.to_string())?;
    let (opened, _) = opened.ok_or("it is no regular file")?;
    let mut body = Vec::new();
    File::from(opened).take(PAGE_BYTES_MAX + 1).read_to_end(&mut body).map_err(|error| error.to_string())?;
    if body.len() as u64 > PAGE_BYTES_MAX {
        return Err(format!("the page has more than {PAGE_BYTES_MAX} bytes"));
    }
    Ok(StatusPage { status, content_type: mime_type(page).into_owned().into(), body: body.into() })
}
