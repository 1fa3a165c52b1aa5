//! Who may come: `Require`, and `Order`, `Allow`, `Deny` of releases before 2.4.

use super::lex::Line;
use crate::model::{Draft, Place, Route, shown};

/// Who may come, as far as it can be said.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(super) struct Access {
    /// Nothing: everybody.
    pub(super) allow: Option<Vec<String>>,
    pub(super) deny: Vec<String>,
    /// What is asked beside it and cannot be: each is a restriction that is lost.
    pub(super) lost: Vec<(Place, String, &'static str)>,
    /// What would have let more come, as a password.
    pub(super) stricter: Vec<(Place, String, &'static str)>,
    place: Option<Place>,
}

const NO_PASSWORDS: &str = "passwords are not carried over yet; write auth = \"basic:FILE\" there";
const NOT_SAID: &str = "this can be said of addresses alone";

impl Access {
    /// Says it in a route.
    pub(super) fn say(&self, route: &mut Route, draft: &mut Draft) {
        for (place, what, why) in &self.stricter {
            draft.lose(place, what, &format!("{why}; those whom it would let in are kept out"));
        }
        for (place, what, why) in &self.lost {
            draft.open(place, what, why);
            route.refused.push(format!("{place}: {}", shown(what)));
        }
        let Some(place) = &self.place else { return };
        match &self.allow {
            Some(allow) if allow.is_empty() => {
                if self.lost.is_empty() {
                    route.respond(403, place);
                }
                return;
            }
            Some(allow) => allow.iter().for_each(|whom| route.keys.add("allow", whom, place)),
            None => {}
        }
        self.deny.iter().for_each(|whom| route.keys.add("deny", whom, place));
    }

    /// Whether everybody may come.
    pub(super) fn is_open(&self) -> bool {
        self.allow.is_none() && self.deny.is_empty() && self.lost.is_empty()
    }
}

/// What a section says of who may come; nothing if it says nothing of it.
pub(super) fn of(section: &[Line]) -> Option<Access> {
    let requires: Vec<&Line> = section.iter().filter(|line| is_require(line)).collect();
    let has_old = section.iter().any(|line| matches!(line.name.as_str(), "order" | "allow" | "deny"));
    let old = has_old.then(|| old(section));
    let new = (!requires.is_empty()).then(|| any(&requires));
    let is_any = section.iter().any(|line| line.name == "satisfy" && line.says(0, "any"));
    match (old, new) {
        (Some(old), Some(new)) => Some(both(old, new, is_any)),
        (old, new) => old.or(new),
    }
}

fn is_require(line: &Line) -> bool {
    matches!(line.name.as_str(), "require" | "requireall" | "requireany" | "requirenone")
}

/// Old and new: both count, with `Satisfy any` one of them.
fn both(old: Access, new: Access, is_any: bool) -> Access {
    if is_any && !old.is_open() {
        // The addresses alone are fewer than those with a password beside them.
        return Access { stricter: [old.stricter, new.lost].concat(), ..old };
    }
    if is_any {
        return old;
    }
    let place = old.place.clone();
    all(vec![old, new], place)
}

/// Each is enough.
fn any(lines: &[&Line]) -> Access {
    let mut each: Vec<Access> = lines.iter().map(|line| one(line)).collect();
    if each.len() == 1 {
        return each.remove(0);
    }
    let place = each.iter().find_map(|one| one.place.clone());
    if let Some(open) = each.iter().find(|one| one.is_open()) {
        return Access { place: open.place.clone(), ..Access::default() };
    }
    let (said, lost): (Vec<Access>, Vec<Access>) = each.into_iter().partition(|one| one.lost.is_empty());
    let lost: Vec<_> = lost.into_iter().flat_map(|one| one.lost).collect();
    let mut said = said.into_iter();
    let Some(mut sum) = said.next() else { return Access { lost, place, ..Access::default() } };
    for other in said {
        match (&mut sum.allow, other.allow) {
            (Some(all), Some(more)) if sum.deny.is_empty() && other.deny.is_empty() => all.extend(more),
            _ => {
                let place = other.place.or_else(|| place.clone());
                sum.stricter.extend(place.map(|place| (place, "Require".to_owned(), NOT_SAID)));
            }
        }
    }
    sum.stricter.extend(lost);
    sum.place = sum.place.or(place);
    sum
}

/// All are needed.
fn all(each: Vec<Access>, place: Option<Place>) -> Access {
    let mut sum =
        Access { place: each.iter().find_map(|one| one.place.clone()).or(place), ..Access::default() };
    for one in each {
        sum.deny.extend(one.deny);
        sum.lost.extend(one.lost);
        sum.stricter.extend(one.stricter);
        match (&sum.allow, one.allow) {
            (_, None) => {}
            (None, allow) => sum.allow = allow,
            (Some(known), Some(allow)) if *known == allow || known.is_empty() => {}
            (Some(_), Some(allow)) if allow.is_empty() => sum.allow = Some(allow),
            _ => sum.lost.extend(sum.place.clone().map(|place| {
                (
                    place,
                    "Require ip".to_owned(),
                    "two lists of addresses, both of which have to have a client",
                )
            })),
        }
    }
    sum
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
    let lost = |why| Access {
        lost: vec![(line.place.clone(), line.text.clone(), why)],
        place: place.clone(),
        ..Access::default()
    };
    let kind = line.arg(0).to_ascii_lowercase();
    match kind.as_str() {
        "all" if line.says(1, "granted") => Access { place, ..Access::default() },
        "all" => Access { allow: Some(Vec::new()), place, ..Access::default() },
        "local" => {
            let allow = ["127.0.0.0/8", "::1", "unix"].map(str::to_owned).to_vec();
            Access { allow: Some(allow), place, ..Access::default() }
        }
        "ip" => match line.args[1..].iter().map(|text| network(text)).collect::<Option<Vec<String>>>() {
            Some(allow) => Access { allow: Some(allow), place, ..Access::default() },
            None => lost(NOT_SAID),
        },
        "valid-user" | "user" | "group" | "ldap-user" | "ldap-group" | "ldap-attribute" | "ldap-filter" => {
            lost(NO_PASSWORDS)
        }
        _ => lost(NOT_SAID),
    }
}

/// The others: of a list of addresses.
fn negated(one: Access, line: &Line) -> Access {
    match one.allow {
        Some(deny) if one.deny.is_empty() && one.lost.is_empty() => {
            Access { deny, place: one.place, ..Access::default() }
        }
        _ => {
            let lost = vec![(line.place.clone(), line.text.clone(), NOT_SAID)];
            Access { lost, place: Some(line.place.clone()), ..Access::default() }
        }
    }
}

/// `Order allow,deny` and its lists.
fn old(section: &[Line]) -> Access {
    let order = section.iter().rfind(|line| line.name == "order");
    let denies_first = order.is_none_or(|line| line.args.concat().to_ascii_lowercase().starts_with("deny"));
    let mut found = Access {
        place: section
            .iter()
            .find(|line| matches!(line.name.as_str(), "order" | "allow" | "deny"))
            .map(|line| line.place.clone()),
        ..Access::default()
    };
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
    // With the list of those who may last, it counts; else that of those who may not.
    found.allow = match (denies_first, allows_all, denies_all) {
        (true, true, _) | (true, false, false) | (false, true, false) => None,
        (true, false, true) | (false, false, false) => Some(allow.clone()),
        (false, _, true) => Some(Vec::new()),
    };
    let counts = if denies_first { !denies_all && !allows_all } else { !denies_all };
    if counts {
        if denies_first && !allow.is_empty() && !deny.is_empty() {
            let place = found.place.clone();
            found
                .stricter
                .extend(place.map(|place| (place, "Allow".to_owned(), "here deny counts before allow")));
        }
        found.deny = deny;
    }
    found
}

/// An address or a range: also `10.1`, and `10.0.0.0/255.0.0.0`.
fn network(text: &str) -> Option<String> {
    let (address, length) =
        text.split_once('/').map_or((text, None), |(address, length)| (address, Some(length)));
    if address.contains(':') || address.split('.').count() == 4 {
        let length = match length {
            Some(mask) if mask.contains('.') => Some(mask_bits(mask)?.to_string()),
            Some(length) => Some(length.to_owned()),
            None => None,
        };
        let is_address = address.parse::<std::net::IpAddr>().is_ok();
        return is_address
            .then(|| length.map_or_else(|| address.to_owned(), |length| format!("{address}/{length}")));
    }
    // The first bytes of an address.
    let bytes: Vec<&str> = address.trim_end_matches('.').split('.').collect();
    let is_byte = |text: &&str| text.parse::<u8>().is_ok();
    let missing = 4_usize.checked_sub(bytes.len())?;
    let fits = length.is_none() && bytes.iter().all(is_byte);
    fits.then(|| format!("{}{}/{}", bytes.join("."), ".0".repeat(missing), 8 * bytes.len()))
}

/// How many bits a mask such as `255.255.0.0` has.
fn mask_bits(mask: &str) -> Option<u32> {
    let bits = u32::from(mask.parse::<std::net::Ipv4Addr>().ok()?);
    (bits.leading_ones() + bits.trailing_zeros() == 32 || bits == 0).then(|| bits.leading_ones())
}

#[cfg(test)]
mod tests {
    use super::{Access, Line, network, of};
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

    fn shown(access: Option<Access>) -> String {
        let Some(access) = access else { return "nothing".to_owned() };
        let allow = access.allow.map_or("all".to_owned(), |allow| allow.join(" "));
        let marks = "!".repeat(access.lost.len()) + &"?".repeat(access.stricter.len());
        format!("{allow}|{}{marks}", access.deny.join(" "))
    }

    #[test]
    fn who_may_come() {
        let cases = [
            ("options x", "nothing"),
            ("require all granted", "all|"),
            ("require all denied", "|"),
            ("require ip 10.1 192.0.2.1", "10.1.0.0/16 192.0.2.1|"),
            ("require ip 10.0.0.1; require ip 10.0.0.2", "10.0.0.1 10.0.0.2|"),
            ("require valid-user", "all|!"),
            ("require valid-user; require ip 10.0.0.1", "10.0.0.1|?"),
            ("require valid-user; require all granted", "all|"),
            ("require host a.example", "all|!"),
            ("requireall {require all granted+require not ip 10.0.0.1}", "all|10.0.0.1"),
            ("requireall {require ip 10.0.0.1+require valid-user}", "10.0.0.1|!"),
            ("requireany {require ip 10.0.0.1+require valid-user}", "10.0.0.1|?"),
            ("requirenone {require ip 10.0.0.1}", "all|10.0.0.1"),
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
                "10.0.0.0/8|?",
            ),
            ("order deny,allow; deny from all; allow from 10; require valid-user", "10.0.0.0/8|!"),
        ];
        for (text, expected) in cases {
            assert_eq!(expected, shown(of(&lines(text))), "{text}");
        }
    }

    #[test]
    fn networks() {
        let cases = [
            ("10", Some("10.0.0.0/8")),
            ("10.1.", Some("10.1.0.0/16")),
            ("10.0.0.0/255.255.0.0", Some("10.0.0.0/16")),
            ("10.0.0.0/255.0.255.0", None),
            ("::1", Some("::1")),
            ("a.example", None),
            ("all", None),
        ];
        for (text, expected) in cases {
            assert_eq!(expected.map(str::to_owned), network(text), "{text}");
        }
    }
}
