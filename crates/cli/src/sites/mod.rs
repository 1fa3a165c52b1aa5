//! The file of sites, which `adyton serve site.toml` reads.
//!
//! A file has a table `[server]`, whose keys are the settings of the command line, and sites with routes. A key of a
//! site or a route is a row of `reading/rows.rs`, or a setting that may differ there (`Row::scope`).
//! `reading/document.rs` reads the file and finds all mistakes in it; `complete.rs` looks at the disk, and makes the
//! sites that are served.

mod addresses;
mod complete;
mod explain;
mod folders;
mod reading;
mod schema;
mod table;

use std::path::{Path, PathBuf};

use crate::rows::ROWS;
use crate::settings::row::Scope;
use crate::settings::said::SaidAt;
use crate::settings::typed::{Settings, SiteAction, Sites};

pub(crate) use self::folders::own::REDIRECT_ROWS;
pub use self::folders::own::{FolderRedirect, FolderSettings, read_folder, read_htaccess};
pub(crate) use self::folders::runs::FOLDER_ROWS;
pub use self::folders::runs::{FolderRuns, add_index};
pub(crate) use self::reading::document::{Document, Given, Said};
pub(crate) use self::reading::keys::is_of;
pub(crate) use self::reading::mistake::{Lines, Mistake};
pub(crate) use self::reading::path::written;
pub(crate) use self::reading::rows::{
    ACTIONS, GROUP_ROWS, MATCHING, ROUTE_ROWS, SITE_ROWS, group_name, is_of_group,
};
pub(crate) use complete::{ReadFile, sayings};
pub use explain::Question;
pub(crate) use schema::schema;
pub use table::TableRoute;
pub(crate) use table::conditions;

use self::reading::rows::{RouteDraft, SiteDraft};

/// Whether a target is a file of sites.
pub(crate) fn is_file(target: &str) -> bool {
    Path::new(target).extension().is_some_and(|end| end == "toml")
}

/// Checks that a key of a table with this scope takes this value.
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
        Some(row) => row.apply(&mut Settings::blank(), value),
        None => Err("this table cannot have it".to_owned()),
    }
}

impl Sites {
    /// Returns the folders that routes serve, each with a path of its route and the place where it is named.
    pub(crate) fn folders(&self) -> impl Iterator<Item = (String, &PathBuf, SaidAt)> {
        let routes = self.sites.iter().flat_map(|site| &site.routes);
        routes.filter_map(|route| match &route.action {
            SiteAction::Files(folder) => {
                let path = route.paths.first().map(written).unwrap_or_default();
                Some((path, folder, route.said_at("files")))
            }
            _ => None,
        })
    }
}
