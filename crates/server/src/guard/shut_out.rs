//! Users and groups that cannot come in although a route's rules name them, because the route's files do not have them.

use std::path::Path;

use adyton_auth::{DigestPasswords, Groups, Passwords, Realm};

use super::files::Secrets;
use super::{Guard, GuardRules};
use crate::lock::lock;

impl Guard {
    /// Returns a sentence about each user and each group that cannot come in although `rules`, with which this guard
    /// was opened, name them; and about each user of the guard's file who cannot come in with some clients.
    pub fn shut_out(&self, rules: &GuardRules) -> Vec<String> {
        let files = lock(&self.files);
        let file = rules.scheme.file().map(|file| file.display().to_string()).unwrap_or_default();
        let mut all = match &files.secrets {
            Secrets::Basic(passwords) => of_basic(passwords, &file, &rules.users),
            Secrets::Digest(digests) => of_digest(digests, &file, &self.realm, &rules.users),
            Secrets::BasicProgram | Secrets::DigestProgram | Secrets::Nothing => Vec::new(),
        };
        if let Some(place) = &rules.group_file {
            all.extend(of_groups(&files.groups, place, &rules.groups));
        }
        all
    }
}

fn of_basic(passwords: &Passwords, file: &str, users: &[String]) -> Vec<String> {
    if passwords.is_empty() {
        return vec![format!("{file} has no users, so nobody can come in; htpasswd -B {file} NAME adds one")];
    }
    let absent = users.iter().filter(|user| !passwords.has(user));
    absent.map(|user| format!("auth-users names {user:?}, who is not in {file}")).collect()
}

fn of_digest(digests: &DigestPasswords, file: &str, realm: &Realm, users: &[String]) -> Vec<String> {
    let name = realm.as_str();
    if digests.algorithms(realm).is_empty() {
        let realms = digests.realms();
        let hint = if realms.is_empty() {
            "the file has no users".to_owned()
        } else {
            let shown: Vec<String> = realms.iter().map(|realm| format!("{realm:?}")).collect();
            format!("the realms of the file are {}", shown.join(", "))
        };
        return vec![format!(
            "{file} has no users for the realm {name:?} (auth-realm), so nobody can come in; {hint}"
        )];
    }
    let lacking = digests.lacking(realm).into_iter().map(|(user, algorithm, line)| {
        let missing = algorithm.name();
        format!(
            "{file}:{line}: {user:?} has no {missing} hash for the realm {name:?}, and some other users have only \
             that: clients are offered {missing}, too, and {user:?} cannot come in with it; give all users hashes of \
             the same algorithms"
        )
    });
    let absent = users.iter().filter(|user| !digests.has(user, realm));
    let absent =
        absent.map(|user| format!("auth-users names {user:?}, who is not in {file} for the realm {name:?}"));
    lacking.chain(absent).collect()
}

fn of_groups(groups: &Groups, file: &Path, names: &[String]) -> Vec<String> {
    let absent = names.iter().filter(|name| !groups.exists(name));
    absent
        .map(|name| format!("auth-groups names {name:?}, a group that is not in {}", file.display()))
        .collect()
}
