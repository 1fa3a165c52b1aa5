//! The file of sites: what `adyton serve site.toml` reads.
//!
//! A file has a table `[server]`, whose keys are the settings of the command line, and sites with routes. A key of a site
//! or a route is a row of `rows.rs`, or a setting that may differ there (`Row::scope`). `document.rs` reads the file and
//! finds all mistakes in it; `complete.rs` makes what is served of it, with a look at the disk.

mod addresses;
mod broken;
mod complete;
mod document;
mod explain;
mod folder;
mod folder_runs;
mod keys;
mod mistake;
mod on_the_way;
mod path;
mod rows;
mod schema;
mod secrets;
mod table;
mod unknown;

use std::path::{Path, PathBuf};

use crate::row::Scope;
use crate::rows::ROWS;
use crate::said::SaidAt;
use crate::settings::{Settings, SiteAction, Sites};

pub(crate) use complete::sayings;
pub(crate) use document::{Document, Given, Said};
pub use explain::Question;
pub(crate) use folder::REDIRECT_ROWS;
pub use folder::{FolderRedirect, FolderSettings, read_folder, read_htaccess};
pub(crate) use folder_runs::FOLDER_ROWS;
pub use folder_runs::{FolderRuns, add_index};
pub(crate) use keys::is_of;
pub(crate) use mistake::{Lines, Mistake};
pub(crate) use path::written;
pub(crate) use rows::{ACTIONS, GROUP_ROWS, MATCHING, ROUTE_ROWS, SITE_ROWS, group_name, is_of_group};
pub(crate) use schema::schema;
pub(crate) use table::conditions;

use rows::{RouteDraft, SiteDraft};

/// Whether a target is a file of sites.
pub(crate) fn is_file(target: &str) -> bool {
    Path::new(target).extension().is_some_and(|end| end == "toml")
}

/// Whether a key of such a table takes this value.
///
/// # Errors
///
/// Half a sentence that says what is right, or that the table has no such key.
pub fn takes(scope: Scope, name: &str, value: &str) -> Result<(), String> {
    let of_site = || SITE_ROWS.iter().find(|row| row.name == name);
    let of_route = || ROUTE_ROWS.iter().find(|row| row.name == name);
    if let (Scope::Site, Some(row)) = (scope, of_site()) {
        return row.apply(&mut SiteDraft::default(), value);
    }
    if let (Scope::Route, Some(row)) = (scope, of_route()) {
        return row.apply(&mut RouteDraft::default(), value);
    }
    match ROWS.iter().find(|row| row.name == name && is_of(row, scope)) {
        Some(row) => row.apply(&mut Settings::default(), value),
        None => Err("it does not stand in this table".to_owned()),
    }
}

impl Sites {
    /// The folders that routes serve, each with a path of its route and where it is named.
    pub(crate) fn folders(&self) -> impl Iterator<Item = (String, &PathBuf, SaidAt)> {
        let routes = self.sites.iter().flat_map(|site| &site.routes);
        routes.filter_map(|route| match &route.action {
            SiteAction::Files(folder) => {
                let path = route.paths.first().map(path::written).unwrap_or_default();
                Some((path, folder, route.said_at("files")))
            }
            _ => None,
        })
    }
}
