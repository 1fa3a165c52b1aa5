//! The Python functions that authenticate and admit clients: which functions settings name, and where they are.

use std::path::Path;
use std::sync::Arc;

use adyton_cli::{Auth, Fault, SaidAt, Settings, Target};
use adyton_server::{Authorities, Authority};

/// A function that settings name.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Wanted {
    /// `MODULE`, `FILE.py`, or either with `:NAME`.
    pub(crate) text: String,
    /// Name of the function if `text` names only the file or module.
    pub(crate) usual: &'static str,
    /// Place in the settings that names the function.
    pub(crate) at: SaidAt,
}

/// The functions that settings name.
#[derive(Default)]
pub(super) struct Named {
    /// The function that checks passwords, or returns their hashes.
    pub(super) users: Option<Wanted>,
    /// The function that returns the groups of a user.
    pub(super) groups: Option<Wanted>,
    /// The function that says which requests are let in.
    pub(super) access: Option<Wanted>,
}

impl Named {
    /// The functions that these settings name.
    pub(super) fn of(settings: &Settings) -> Named {
        let wanted = |text: &String, usual: &'static str, setting: &str| Wanted {
            text: text.clone(),
            usual,
            at: settings.said_at(setting),
        };
        let users = match &settings.access.auth {
            Some(Auth::BasicPython(text)) => Some(wanted(text, "check_password", "auth")),
            Some(Auth::DigestPython(text)) => Some(wanted(text, "get_realm_hash", "auth")),
            Some(Auth::Basic(_) | Auth::Digest(_)) | None => None,
        };
        let named =
            settings.access.auth_group_python.as_ref().map(|text| wanted(text, GROUPS, "auth-group-python"));
        let beside = users.as_ref().filter(|_| settings.access.auth_group_file.is_none());
        let groups = named.or_else(|| beside.map(Wanted::groups_beside));
        let groups =
            groups.filter(|_| settings.access.auth.is_some() && !settings.access.auth_groups.is_empty());
        let access =
            settings.access.allow_python.as_ref().map(|text| wanted(text, "allow_access", "allow-python"));
        Named { users, groups, access }
    }

    /// The loaded functions with these names.
    pub(super) fn among(self, functions: &Functions) -> Authorities {
        let find = |wanted: Option<Wanted>| {
            let wanted = wanted?;
            functions.iter().find(|(other, _)| *other == wanted).map(|(_, function)| Arc::clone(function))
        };
        Authorities { users: find(self.users), groups: find(self.groups), access: find(self.access) }
    }

    /// All named functions.
    pub(super) fn all(self) -> impl Iterator<Item = Wanted> {
        [self.users, self.groups, self.access].into_iter().flatten()
    }
}

const GROUPS: &str = "groups_for_user";

impl Wanted {
    /// The function in the same module that returns groups.
    fn groups_beside(&self) -> Wanted {
        let place = self.text.split_once(':').map_or(&*self.text, |(place, _)| place);
        Wanted { text: place.to_owned(), usual: GROUPS, at: self.at.clone() }
    }

    /// The setting that names the function.
    fn setting(&self) -> &'static str {
        if self.usual == "allow_access" { "allow-python" } else { "auth" }
    }

    /// Finds the function, beneath `base`.
    pub(super) fn find(&self, base: &Path) -> Result<Target, Fault> {
        let wrong = |why: &str| Fault { at: self.at.clone(), what: format!("{}: {why}", self.setting()) };
        match Target::find(&self.text, base).map_err(|why| wrong(&why))? {
            Target::Folder(folder) | Target::Scripts(adyton_cli::Scripts { folder, .. }) => {
                Err(wrong(&format!("{} is a folder, and no Python", folder.display())))
            }
            found => Ok(found),
        }
    }
}

/// Loaded functions, which guards ask.
pub(super) type Functions = [(Wanted, Arc<dyn Authority>)];
