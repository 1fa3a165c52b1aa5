//! Passwords: `AuthType` and its kin, each of which is inherited independently.

use crate::apache::language::line::Line;
use crate::model::{Draft, Place, Route, shown};

/// Users whose password is enough; without names and groups, all users of the file.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(super) struct Users {
    pub(super) names: Vec<String>,
    pub(crate) groups: Vec<String>,
    /// Groups that a script knows.
    pub(super) script_groups: Vec<String>,
}

impl Users {
    /// Whether all users of the file are meant.
    pub(super) fn is_all(&self) -> bool {
        self.names.is_empty() && self.groups.is_empty() && self.script_groups.is_empty()
    }

    /// Returns the users of both rules.
    pub(super) fn or(self, other: Users) -> Users {
        if self.is_all() || other.is_all() {
            return Users::default();
        }
        Users {
            names: [self.names, other.names].concat(),
            groups: [self.groups, other.groups].concat(),
            script_groups: [self.script_groups, other.script_groups].concat(),
        }
    }
}

/// Directives about passwords from all sections of a path; of each directive the last one counts.
#[derive(Clone, Debug, Default)]
pub(crate) struct Asking<'l> {
    scheme: Option<&'l Line>,
    realm: Option<&'l Line>,
    file: Option<&'l Line>,
    group_file: Option<&'l Line>,
    basic_provider: Option<&'l Line>,
    digest_provider: Option<&'l Line>,
    /// `AuthBasicUseDigestAlgorithm`: passwords of one scheme in a file of the other.
    mixed: Option<&'l Line>,
    /// Scripts of `mod_wsgi` that check users, groups, and requests.
    user_script: Option<&'l Line>,
    group_script: Option<&'l Line>,
    access_script: Option<&'l Line>,
}

/// A reason why no password can be asked for: the place, the directive, the reason.
type Lost = (Place, String, String);

impl<'l> Asking<'l> {
    /// Takes a directive, if it is about passwords.
    pub(crate) fn take(&mut self, line: &'l Line) {
        let found = match line.name.as_str() {
            "authtype" => &mut self.scheme,
            "authname" => &mut self.realm,
            "authuserfile" => &mut self.file,
            "authgroupfile" => &mut self.group_file,
            "authbasicprovider" => &mut self.basic_provider,
            "authdigestprovider" => &mut self.digest_provider,
            "authbasicusedigestalgorithm" => &mut self.mixed,
            "wsgiauthuserscript" => &mut self.user_script,
            "wsgiauthgroupscript" => &mut self.group_script,
            "wsgiaccessscript" => &mut self.access_script,
            _ => return,
        };
        *found = Some(line);
    }

    /// Has a route ask for the password of one of these users; `place` is the line that names the users.
    ///
    /// # Errors
    ///
    /// No key can say how the password is asked for; then the route has to refuse.
    pub(super) fn say(&self, users: &Users, place: &Place, route: &mut Route) -> Result<(), Lost> {
        let lost = |line: &Line, why: &str| (line.place.clone(), line.text.clone(), why.to_owned());
        let scheme = self.scheme.ok_or_else(|| {
            let why = "there is no AuthType; write AuthType Basic or Digest, with an AuthUserFile";
            (place.clone(), "Require".to_owned(), why.to_owned())
        })?;
        let (word, provider) = match scheme.arg(0).to_ascii_lowercase().as_str() {
            "basic" => ("basic", self.basic_provider),
            "digest" => ("digest", self.digest_provider),
            _ => return Err(lost(scheme, "passwords are asked for only with Basic or Digest")),
        };
        let other = provider.filter(|line| !line.args.iter().any(|name| name == "file"));
        let of_script = other.filter(|line| line.args.iter().any(|name| name == "wsgi"));
        if let Some(line) = other.filter(|_| of_script.is_none()) {
            return Err(lost(
                line,
                "here users come only from files of htpasswd or htdigest, or from Python",
            ));
        }
        if let Some(line) = self.mixed.filter(|line| word == "basic" && !line.says(0, "off")) {
            return Err(lost(line, "a file of htdigest can be used only with Digest"));
        }
        let (file, kind) = match of_script {
            Some(line) => (
                self.user_script.ok_or_else(|| lost(line, "there is no WSGIAuthUserScript for it"))?,
                "-python",
            ),
            None => (self.file.ok_or_else(|| lost(scheme, "there is no AuthUserFile for it"))?, ""),
        };
        let (group_key, groups) = self.groups(users).map_err(|why| lost(scheme, why))?;
        let has_variable = |line: &&Line| line.arg(0).contains("${");
        if let Some(line) = [Some(file), groups, self.realm].into_iter().flatten().find(has_variable) {
            return Err(lost(line, "this contains a variable that is not known here"));
        }
        if word == "digest" && self.realm.is_none() {
            return Err(lost(scheme, "there is no AuthName, which is hashed into the passwords of Digest"));
        }
        route.keys.set("auth", format!("{word}{kind}:{}", file.arg(0)), &file.place);
        if let Some(line) = self.realm {
            route.keys.set("auth-realm", line.arg(0), &line.place);
        }
        let named = [&*users.groups, &*users.script_groups].concat();
        for (name, names) in [("auth-users", &users.names), ("auth-groups", &named)] {
            if !names.is_empty() {
                route.keys.set(name, names.join(", "), place);
            }
        }
        if let Some(line) = groups {
            route.keys.set(group_key, line.arg(0), &line.place);
        }
        Ok(())
    }

    /// Returns the directive that names the file or script of the users' groups, if they have any, and the key for it.
    fn groups(&self, users: &Users) -> Result<(&'static str, Option<&'l Line>), &'static str> {
        const FILE: &str = "auth-group-file";
        const SCRIPT: &str = "auth-group-python";
        // Before Apache 2.4 the script was asked about all groups.
        let of_script = !users.script_groups.is_empty() || self.group_file.is_none();
        match (users.groups.is_empty(), users.script_groups.is_empty()) {
            (true, true) => Ok((FILE, None)),
            (false, false) => Err("one route cannot take groups from a file and from a script"),
            _ if of_script && self.group_script.is_some() => Ok((SCRIPT, self.group_script)),
            (false, true) if !of_script => Ok((FILE, self.group_file)),
            (false, true) => Err("there is no AuthGroupFile for the groups"),
            (true, false) => Err("there is no WSGIAuthGroupScript for the groups"),
        }
    }

    /// Has the script of `mod_wsgi`, if there is one, decide which requests are let in.
    pub(crate) fn say_script(&self, route: &mut Route, draft: &mut Draft) {
        let Some(line) = self.access_script else { return };
        if route.keys.has("auth-satisfy") || line.arg(0).contains("${") {
            let why = "the script must be asked as well, but here an allowed address would be enough; or the script's name contains a variable";
            draft.open(&line.place, &line.text, why);
            route.refused.push(format!("{}: {}", line.place, shown(&line.text)));
            return;
        }
        route.keys.set("allow-python", line.arg(0), &line.place);
    }
}
