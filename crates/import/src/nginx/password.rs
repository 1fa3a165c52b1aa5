//! `auth_basic` and `auth_basic_user_file`: the two are inherited independently.

use super::lex::Directive;
use crate::model::{Draft, Route, shown};

/// The way in which a level asks for passwords.
#[derive(Clone, Debug, Default)]
pub(super) struct Asking {
    realm: Option<Directive>,
    file: Option<Directive>,
}

/// Names of the directives about passwords.
pub(super) const NAMES: [&str; 2] = ["auth_basic", "auth_basic_user_file"];

impl Asking {
    /// Takes a directive that has one of the names; returns whether it has.
    pub(super) fn take(&mut self, directive: &Directive) -> bool {
        let found = match directive.name.as_str() {
            "auth_basic" => &mut self.realm,
            "auth_basic_user_file" => &mut self.file,
            _ => return false,
        };
        *found = Some(directive.clone());
        true
    }

    /// Whether a password is asked for.
    pub(super) fn is_on(&self) -> bool {
        self.realm.as_ref().is_some_and(|realm| realm.arg(0) != "off")
    }

    /// Has a route ask for a password, if the level does; a route that cannot ask refuses.
    pub(super) fn say(&self, route: &mut Route, draft: &mut Draft) {
        let Some(realm) = self.realm.as_ref().filter(|_| self.is_on()) else { return };
        let lost = match &self.file {
            None => Some((
                realm,
                "without an auth_basic_user_file nginx asks nobody for a password; say which file is meant",
            )),
            Some(file) if file.arg(0).contains('$') => Some((file, "variables do not exist here")),
            Some(_) if realm.arg(0).contains('$') => Some((realm, "variables do not exist here")),
            Some(_) => None,
        };
        if let Some((directive, why)) = lost {
            draft.open(&directive.place, &directive.shown(), why);
            route.refused.push(format!("{}: {}", directive.place, shown(&directive.shown())));
            return;
        }
        let Some(file) = &self.file else { return };
        if !file.arg(0).starts_with('/') {
            let why = "in nginx this name is relative to the folder of nginx.conf, and here to the folder of the file of sites";
            draft.lose(&file.place, &file.shown(), why);
        }
        route.keys.set("auth", format!("basic:{}", file.arg(0)), &file.place);
        route.keys.set("auth-realm", realm.arg(0), &realm.place);
    }
}
