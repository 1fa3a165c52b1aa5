//! Access rules: `Require`, and `Order`, `Allow`, `Deny` of releases before 2.4.

use crate::apache::clients::password::{Asking, Users};
use crate::apache::language::line::Line;
use crate::apache::language::network::network;
use crate::model::{Draft, Place, Route, shown};

/// Clients that are let in, as far as keys can say: addresses, users, and whether an address or a user is enough.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct Access {
    /// Addresses that are let in; `None`: every address.
    allow: Option<Vec<String>>,
    deny: Vec<String>,
    /// Users that are let in; `None`: no password is asked for.
    users: Option<Users>,
    /// Whether an address of `allow` or a password is enough; if not, both are needed.
    is_either: bool,
    /// Further conditions that no key can say: each is a restriction that is lost.
    lost: Vec<(Place, String, &'static str)>,
    /// Permissions that no key can say: without them fewer clients are let in.
    stricter: Vec<(Place, String, &'static str)>,
    place: Option<Place>,
}

const GRANTED_OR_DENIED: &str = "Require all takes one word, granted or denied";
const NOT_SAID: &str = "an access rule can name only addresses and users";
const NO_PROVIDER: &str =
    "here users and groups come only from files: of htpasswd, of htdigest, or an AuthGroupFile";

impl Access {
    /// Writes the rules into the keys of a route; `asking` says how passwords are asked for.
    pub(crate) fn say(&self, asking: &Asking<'_>, route: &mut Route, draft: &mut Draft) {
        for (place, what, why) in &self.stricter {
            draft.lose(place, what, &format!("{why}; clients whom only this line lets in are kept out"));
        }
        for (place, what, why) in &self.lost {
            draft.open(place, what, why);
            route.refused.push(format!("{place}: {}", shown(what)));
        }
        let Some(place) = &self.place else { return };
        if self.is_nobody() {
            if self.lost.is_empty() {
                route.respond(403, place);
            }
            return;
        }
        let allow = self.allow.iter().flatten();
        allow.for_each(|whom| route.keys.add("allow", whom, place));
        self.deny.iter().for_each(|whom| route.keys.add("deny", whom, place));
        let Some(users) = &self.users else { return };
        match asking.say(users, place, route) {
            Ok(()) if self.is_either => route.keys.set("auth-satisfy", "any", place),
            Ok(()) => {}
            Err((place, what, why)) if self.is_either => {
                draft.lose(
                    &place,
                    &what,
                    &format!("{why}; clients whom only this line lets in are kept out"),
                );
            }
            Err((place, what, why)) => {
                draft.open(&place, &what, &why);
                route.refused.push(format!("{place}: {}", shown(&what)));
            }
        }
    }

    /// Returns the rules with all users denied. Rules for names of files need this, because such names have no route of
    /// their own that could ask for a password.
    pub(crate) fn without_users(self) -> Access {
        match (&self.users, self.is_either) {
            (None, _) => self,
            (Some(_), true) => Access { users: None, is_either: false, ..self },
            (Some(_), false) => Access { users: None, allow: Some(Vec::new()), ..self },
        }
    }

    /// Whether everybody is let in.
    pub(crate) fn is_open(&self) -> bool {
        self.allow.is_none() && self.deny.is_empty() && self.users.is_none() && self.lost.is_empty()
    }

    /// Whether nobody is let in.
    fn is_nobody(&self) -> bool {
        !self.is_either && self.allow.as_ref().is_some_and(Vec::is_empty)
    }

    /// Returns rules that let in the clients that both rules let in.
    fn and(mut self, other: Access) -> Access {
        let place = self.place.take().or(other.place);
        self.place.clone_from(&place);
        self.deny.extend(other.deny);
        self.lost.extend(other.lost);
        self.stricter.extend(other.stricter);
        let mut lose = |why| {
            let told = place.clone().map(|place| (place, "Require".to_owned(), why));
            self.lost.extend(told);
        };
        let is_all = |allow: &Option<Vec<String>>, users: &Option<Users>| allow.is_none() && users.is_none();
        if self.is_either || other.is_either {
            let is_same =
                (&self.allow, &self.users, self.is_either) == (&other.allow, &other.users, other.is_either);
            if is_all(&self.allow, &self.users) {
                (self.allow, self.users, self.is_either) = (other.allow, other.users, other.is_either);
            } else if !is_same && !is_all(&other.allow, &other.users) {
                lose(
                    "an address or a user is enough for one rule, and another rule must be met as well; one route cannot say both",
                );
            }
            return self;
        }
        match (&self.allow, other.allow) {
            (_, None) => {}
            (None, allow) => self.allow = allow,
            (Some(known), Some(allow)) if *known == allow || known.is_empty() => {}
            (Some(_), Some(allow)) if allow.is_empty() => self.allow = Some(allow),
            _ => lose("the client's address must be in two lists at once, which one route cannot say"),
        }
        match (&self.users, other.users) {
            (_, None) => {}
            (None, users) => self.users = users,
            (Some(known), Some(users)) if users.is_all() || *known == users => {}
            (Some(known), Some(users)) if known.is_all() => self.users = Some(users),
            _ => lose("the user must be in two lists at once, which one route cannot say"),
        }
        self
    }

    /// Returns rules that let in the clients that at least one of the two rules lets in.
    fn or(mut self, mut other: Access) -> Access {
        if self.is_open() || other.is_nobody() {
            return self;
        }
        if other.is_open() || self.is_nobody() {
            return other;
        }
        // A rule whose condition no key can express would let in more clients than in Apache, so the rule is left out.
        if !other.lost.is_empty() {
            let told = std::mem::take(&mut other.lost);
            if self.lost.is_empty() {
                self.stricter.extend(told);
            } else {
                self.lost.extend(told);
            }
            return self;
        }
        if !self.lost.is_empty() {
            return other.or(self);
        }
        let is_sum = |one: &Access| {
            one.deny.is_empty() && (one.is_either || one.allow.is_none() || one.users.is_none())
        };
        if !is_sum(&self) || !is_sum(&other) {
            let place = other.place.or_else(|| self.place.clone());
            self.stricter.extend(place.map(|place| (place, "Require".to_owned(), NOT_SAID)));
            return self;
        }
        self.stricter.extend(other.stricter);
        self.allow = match (self.allow, other.allow) {
            (Some(mut all), Some(more)) => {
                all.extend(more);
                Some(all)
            }
            (all, more) => all.or(more),
        };
        self.users = match (self.users, other.users) {
            (Some(all), Some(more)) => Some(all.or(more)),
            (all, more) => all.or(more),
        };
        self.is_either = self.allow.is_some() && self.users.is_some();
        self.place = self.place.or(other.place);
        self
    }
}

/// Returns the `Require` rules of a section; `None` if it has none.
pub(crate) fn required(section: &[Line]) -> Option<Access> {
    let requires: Vec<&Line> = section.iter().filter(|line| is_require(line)).collect();
    (!requires.is_empty()).then(|| any(&requires))
}

fn is_require(line: &Line) -> bool {
    matches!(line.name.as_str(), "require" | "requireall" | "requireany" | "requirenone")
}

/// Returns the rules of a path. `old` is from the last section with `Order`, `Allow`, `Deny` or `Satisfy`, and
/// `required` from the last section with `Require`: the two are inherited independently.
pub(crate) fn together(old: Option<&Old>, required: Option<&Access>) -> Option<Access> {
    match (old, required.cloned()) {
        (None, required) => required,
        (Some(old), None) => Some(old.access.clone()),
        (Some(Old { access, is_any: false }), Some(required)) => Some(access.clone().and(required)),
        (Some(Old { access, is_any: true }), Some(required)) => Some(access.clone().or(required)),
    }
}

/// Returns the rules of several lines, each of which is enough to let a client in.
fn any(lines: &[&Line]) -> Access {
    let mut each = lines.iter().map(|line| one(line));
    let Some(first) = each.next() else { return Access::default() };
    each.fold(first, Access::or)
}

/// Returns the rules of several parts, all of which a client has to meet.
fn all(each: Vec<Access>, place: Option<Place>) -> Access {
    each.into_iter().fold(Access { place, ..Access::default() }, Access::and)
}

fn one(line: &Line) -> Access {
    let place = Some(line.place.clone());
    let inside = || -> Vec<&Line> { line.inside.iter().filter(|line| is_require(line)).collect() };
    match line.name.as_str() {
        "requireany" => return Access { place, ..any(&inside()) },
        "requireall" => return all(inside().into_iter().map(one).collect(), place),
        "requirenone" => {
            let each = inside().into_iter().map(|line| negated(one(line), line)).collect();
            return all(each, place);
        }
        _ => {}
    }
    if line.says(0, "not") {
        let rest = Line { args: line.args[1..].to_vec(), ..line.clone() };
        return negated(one(&rest), line);
    }
    provided(line, place)
}

/// Returns the rules of `Require KIND WHOM...`.
fn provided(line: &Line, place: Option<Place>) -> Access {
    let lost = |why| Access {
        lost: vec![(line.place.clone(), line.text.clone(), why)],
        place: place.clone(),
        ..Access::default()
    };
    let names = || line.args.iter().skip(1).cloned().collect::<Vec<String>>();
    let users = |users| Access { users: Some(users), place: place.clone(), ..Access::default() };
    let kind = line.arg(0).to_ascii_lowercase();
    match kind.as_str() {
        "all" if line.args.len() != 2 => lost(GRANTED_OR_DENIED),
        "all" if line.says(1, "granted") => Access { place, ..Access::default() },
        "all" if line.says(1, "denied") => Access { allow: Some(Vec::new()), place, ..Access::default() },
        "all" => lost(GRANTED_OR_DENIED),
        "local" => {
            let allow = ["127.0.0.0/8", "::1", "unix"].map(str::to_owned).to_vec();
            Access { allow: Some(allow), place, ..Access::default() }
        }
        "ip" => match line.args[1..].iter().map(|text| network(text)).collect::<Option<Vec<String>>>() {
            Some(allow) => Access { allow: Some(allow), place, ..Access::default() },
            None => lost(NOT_SAID),
        },
        "valid-user" => users(Users::default()),
        "user" | "group" | "wsgi-group"
            if line.args.len() < 2 || line.args.iter().any(|name| name.contains(',')) =>
        {
            lost("this takes names, and no name may contain a comma")
        }
        "user" => users(Users { names: names(), ..Users::default() }),
        "group" => users(Users { groups: names(), ..Users::default() }),
        "wsgi-group" => users(Users { script_groups: names(), ..Users::default() }),
        "host" | "forward-dns" => lost("host names are not looked up; write addresses"),
        "env" | "expr" => lost("conditions on variables do not exist here"),
        "method" => lost("methods are a key of a route: methods = [\"GET\"]"),
        "ssl" | "ssl-verify-client" => lost("TLS is the work of a proxy in front"),
        kind if kind.contains("group") || kind.contains("user") || kind.starts_with("ldap") => {
            lost(NO_PROVIDER)
        }
        _ => lost(NOT_SAID),
    }
}

/// Returns the rules of `Require not`, which deny a list of addresses; any other negation is lost.
fn negated(one: Access, line: &Line) -> Access {
    match one.allow {
        Some(deny)
            if one.deny.is_empty() && one.lost.is_empty() && one.users.is_none() && !deny.is_empty() =>
        {
            Access { deny, place: one.place, ..Access::default() }
        }
        _ => {
            let lost = vec![(line.place.clone(), line.text.clone(), NOT_SAID)];
            Access { lost, place: Some(line.place.clone()), ..Access::default() }
        }
    }
}

/// The rules `Order`, `Allow`, `Deny` and `Satisfy` of one section.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Old {
    access: Access,
    /// `Satisfy any`: the rules of `Require` are enough, too.
    is_any: bool,
}

impl Old {
    /// Returns the rules with all users denied.
    pub(crate) fn without_users(self) -> Old {
        Old { access: self.access.without_users(), ..self }
    }
}

/// Reads the old rules of a section; `None` if it has none of them.
pub(crate) fn old(section: &[Line]) -> Option<Old> {
    let is_one = |line: &&Line| matches!(line.name.as_str(), "order" | "allow" | "deny" | "satisfy");
    let first = section.iter().find(is_one)?;
    let is_any = section.iter().rfind(|line| line.name == "satisfy").is_some_and(|line| line.says(0, "any"));
    Some(Old { access: listed(section, first.place.clone()), is_any })
}

/// Directives that take exactly one word, with the words for each.
const WORDS: [(&str, &[&str]); 2] =
    [("order", &["allow,deny", "deny,allow", "mutual-failure"]), ("satisfy", &["all", "any"])];

const ODD: &str = "Apache takes exactly one of its own words here, and refuses a file with anything else";

/// Returns the rules of `Order allow,deny` and its lists.
fn listed(section: &[Line], place: Place) -> Access {
    let order = section.iter().rfind(|line| line.name == "order");
    let denies_first = order.is_none_or(|line| line.args.concat().to_ascii_lowercase().starts_with("deny"));
    let mut found = Access { place: Some(place.clone()), ..Access::default() };
    for (name, words) in WORDS {
        let is_wrong = |line: &&Line| {
            line.name == name && !(line.args.len() == 1 && words.iter().any(|word| line.says(0, word)))
        };
        found
            .lost
            .extend(section.iter().filter(is_wrong).map(|line| (line.place.clone(), line.text.clone(), ODD)));
    }
    let (mut allow, mut deny) = (Vec::new(), Vec::new());
    for line in section.iter().filter(|line| matches!(line.name.as_str(), "allow" | "deny")) {
        for whom in line.args.iter().skip(usize::from(line.says(0, "from"))) {
            let list = if line.name == "allow" { &mut allow } else { &mut deny };
            match network(whom) {
                Some(network) => list.push(network),
                None if whom.eq_ignore_ascii_case("all") => list.push("all".to_owned()),
                None if line.name == "allow" => {
                    found.stricter.push((line.place.clone(), line.text.clone(), NOT_SAID));
                }
                None => found.lost.push((line.place.clone(), line.text.clone(), NOT_SAID)),
            }
        }
    }
    let has_all = |list: &[String]| list.iter().any(|whom| whom == "all");
    let (allows_all, denies_all) = (has_all(&allow), has_all(&deny));
    // The list that `Order` names last counts.
    found.allow = match (denies_first, allows_all, denies_all) {
        (true, true, _) | (true, false, false) | (false, true, false) => None,
        (true, false, true) | (false, false, false) => Some(allow.clone()),
        (false, _, true) => Some(Vec::new()),
    };
    let counts = if denies_first { !denies_all && !allows_all } else { !denies_all };
    if counts {
        if denies_first && !allow.is_empty() && !deny.is_empty() {
            found.stricter.push((place, "Allow".to_owned(), "here deny counts before allow"));
        }
        found.deny = deny;
    }
    found
}

#[cfg(test)]
mod tests {
    use super::{Access, Line, old, required, together};
    use crate::model::Place;

    fn lines(text: &str) -> Vec<Line> {
        let place = Place { file: "x".into(), line: 1 };
        let line = |text: &str| {
            let (name, inside) = match text.split_once('{') {
                Some((name, inside)) => (name, inside.trim_end_matches('}').replace('+', ";")),
                None => (text, String::new()),
            };
            let mut words = name.split_whitespace().map(str::to_owned);
            let name = words.next().unwrap_or_default();
            let inside = if inside.is_empty() { Vec::new() } else { lines(&inside) };
            Line {
                name,
                args: words.collect(),
                text: text.to_owned(),
                place: place.clone(),
                inside,
                is_section: false,
            }
        };
        text.split(';').map(|text| line(text.trim())).collect()
    }

    fn of(text: &str) -> Option<Access> {
        let lines = lines(text);
        together(old(&lines).as_ref(), required(&lines).as_ref())
    }

    /// Returns `allow|deny @users`, with `/` in the place of the space if an address or a user is enough; `!` for each
    /// lost restriction, `?` for each lost permission.
    fn shown(access: Option<Access>) -> String {
        let Some(access) = access else { return "nothing".to_owned() };
        let allow = access.allow.map_or("all".to_owned(), |allow| allow.join(" "));
        let marks = "!".repeat(access.lost.len()) + &"?".repeat(access.stricter.len());
        let sign = if access.is_either { "/" } else { " " };
        let users = access.users.map_or(String::new(), |users| {
            format!("{sign}@{}", [users.names.join(","), users.groups.join(",")].join(":"))
        });
        format!("{allow}|{}{users}{marks}", access.deny.join(" "))
    }

    #[test]
    fn who_may_come() {
        let cases = [
            ("options x", "nothing"),
            ("require all granted", "all|"),
            ("require all denied", "|"),
            ("require ip 10.1 192.0.2.1", "10.1.0.0/16 192.0.2.1|"),
            ("require ip 10.0.0.1; require ip 10.0.0.2", "10.0.0.1 10.0.0.2|"),
            ("require valid-user", "all| @:"),
            ("require user ann bob; require group staff", "all| @ann,bob:staff"),
            ("require user ann; require valid-user", "all| @:"),
            ("require user a,b", "all|!"),
            ("require valid-user; require ip 10.0.0.1", "10.0.0.1|/@:"),
            ("require valid-user; require all granted", "all|"),
            ("require valid-user; require all denied", "all| @:"),
            ("require host a.example", "all|!"),
            ("require host a.example; require ip 10.0.0.1", "10.0.0.1|?"),
            ("require ldap-group x; require dbm-group y", "all|!!"),
            ("requireall {require all granted+require not ip 10.0.0.1}", "all|10.0.0.1"),
            ("requireall {require ip 10.0.0.1+require valid-user}", "10.0.0.1| @:"),
            ("requireall {require valid-user+require group staff}", "all| @:staff"),
            ("requireall {require user ann+require group staff}", "all| @ann:!"),
            ("requireall {require ip 10.0.0.1+require ip 10.0.0.2}", "10.0.0.1|!"),
            ("requireall {require valid-user+require not user ann}", "all| @:!"),
            ("requireall {require all denied+require valid-user}", "| @:"),
            ("requireany {require ip 10.0.0.1+require valid-user}", "10.0.0.1|/@:"),
            ("requireany {require user ann+require user bob+require ip 10.0.0.1}", "10.0.0.1|/@ann,bob:"),
            ("requirenone {require ip 10.0.0.1}", "all|10.0.0.1"),
            ("requirenone {require all denied}", "all|!"),
            ("order allow,deny; allow from all", "all|"),
            ("order allow,deny; allow from 10; deny from 10.1", "10.0.0.0/8|10.1.0.0/16"),
            ("order allow,deny", "|"),
            ("order deny,allow; deny from all; allow from 10", "10.0.0.0/8|"),
            ("order deny,allow; deny from 10", "all|10.0.0.0/8"),
            ("order deny,allow; deny from 10; allow from 10.1", "all|10.0.0.0/8?"),
            ("order deny,allow; deny from bad.example", "all|!"),
            ("order allow,deny; allow from good.example", "|?"),
            ("order allow,deny; allow from all; deny from all", "|"),
            (
                "order deny,allow; deny from all; allow from 10; require valid-user; satisfy any",
                "10.0.0.0/8|/@:",
            ),
            ("order deny,allow; deny from all; require valid-user; satisfy any", "all| @:"),
            ("order deny,allow; deny from 10; require valid-user; satisfy any", "all|10.0.0.0/8?"),
            ("require valid-user; satisfy any", "all|"),
            ("order deny,allow; deny from all; allow from 10; require valid-user", "10.0.0.0/8| @:"),
        ];
        for (text, expected) in cases {
            assert_eq!(expected, shown(of(text)), "{text}");
        }
    }

    #[test]
    fn nobody_in_the_place_of_users() {
        let cases = [
            ("require valid-user", "|"),
            ("require valid-user; require ip 10.0.0.1", "10.0.0.1|"),
            ("require ip 10.0.0.1", "10.0.0.1|"),
        ];
        for (text, expected) in cases {
            assert_eq!(expected, shown(of(text).map(Access::without_users)), "{text}");
        }
    }
}
