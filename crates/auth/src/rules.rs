//! Rules about users: who may enter a place, once the client has authenticated.

use crate::passwords::groups::Groups;

/// A condition on users. Conditions on addresses are not rules, because they need no user.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Rule {
    /// Any user whose password was right.
    ValidUser,
    /// One of these users.
    User(Vec<Box<[u8]>>),
    /// Any user in one of these groups.
    Group(Vec<Box<str>>),
    /// At least one of these rules holds; an empty list lets no user pass.
    Any(Vec<Rule>),
    /// All of these rules hold; an empty list lets every user pass.
    All(Vec<Rule>),
}

impl Rule {
    /// Whether a user whose password was right may pass.
    pub fn allows(&self, user: &[u8], groups: &Groups) -> bool {
        match self {
            Rule::ValidUser => true,
            Rule::User(users) => users.iter().any(|allowed| **allowed == *user),
            Rule::Group(names) => names.iter().any(|name| groups.has(name, user)),
            Rule::Any(rules) => rules.iter().any(|rule| rule.allows(user, groups)),
            Rule::All(rules) => rules.iter().all(|rule| rule.allows(user, groups)),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::Rule;
    use crate::Groups;

    #[test]
    fn who_passes() {
        let groups = Groups::read("admins: ann bob\nstaff: bob carl\n").unwrap_or_default();
        let user = |names: &[&str]| Rule::User(names.iter().map(|name| name.as_bytes().into()).collect());
        let group = |names: &[&str]| Rule::Group(names.iter().map(|&name| name.into()).collect());
        for (rule, allowed) in [
            (Rule::ValidUser, "ann bob carl dora"),
            (user(&["ann", "dora"]), "ann dora"),
            (user(&[]), ""),
            (group(&["admins"]), "ann bob"),
            (group(&["admins", "staff"]), "ann bob carl"),
            (group(&["nobody"]), ""),
            (Rule::Any(vec![user(&["dora"]), group(&["staff"])]), "bob carl dora"),
            (Rule::All(vec![group(&["admins"]), group(&["staff"])]), "bob"),
            (Rule::All(vec![Rule::ValidUser, Rule::Any(vec![user(&["ann"])])]), "ann"),
            (Rule::Any(vec![]), ""),
            (Rule::All(vec![]), "ann bob carl dora"),
        ] {
            let users = ["ann", "bob", "carl", "dora"];
            let passed: Vec<_> =
                users.into_iter().filter(|user| rule.allows(user.as_bytes(), &groups)).collect();

            assert_eq!(allowed, passed.join(" "), "{rule:?}");
        }
    }
}
