//! Files of groups, in the format of Apache's `AuthGroupFile`.

use std::collections::{HashMap, HashSet};

use crate::passwords::wrong::{Wrong, each_line};

/// Groups and the users in them.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Groups {
    members: HashMap<Box<str>, HashSet<Box<[u8]>>>,
}

impl Groups {
    /// Reads lines of the form `group: user user`; comments begin with `#`. Several lines of one group add up, as in
    /// Apache.
    ///
    /// # Errors
    ///
    /// The mistakes in the text, the first twenty at most.
    pub fn read(text: &str) -> Result<Groups, Vec<Wrong>> {
        let mut groups = Groups::default();
        each_line(text, |_, words| groups.add(words))?;
        Ok(groups)
    }

    fn add(&mut self, words: &str) -> Result<(), String> {
        let (group, users) = words.split_once(':').ok_or("write group: user user")?;
        if group.is_empty() || group.contains(char::is_whitespace) {
            return Err("a group has a name of one word".to_owned());
        }
        if words.contains(|c: char| c.is_control() && c != '\t') {
            return Err("there is a control character".to_owned());
        }
        let users = users.split_ascii_whitespace().map(|user| user.as_bytes().into());
        self.members.entry(group.into()).or_default().extend(users);
        Ok(())
    }

    /// Adds a user to a group.
    pub fn add_member(&mut self, group: &str, user: &[u8]) {
        self.members.entry(group.into()).or_default().insert(user.into());
    }

    /// Whether this user is in this group. A group that does not exist has no users.
    pub fn has(&self, group: &str, user: &[u8]) -> bool {
        self.members.get(group).is_some_and(|users| users.contains(user))
    }

    /// Whether there is such a group: a rule with the name of an absent group is a mistake.
    pub fn exists(&self, group: &str) -> bool {
        self.members.contains_key(group)
    }
}

#[cfg(test)]
mod tests {
    use super::Groups;

    #[test]
    fn members() {
        let text = "# Groups.\nadmins: ann  bob\r\nstaff:carl\tdora\n\nadmins: eve\nempty:\n";
        let groups = Groups::read(text).unwrap_or_default();

        for (group, user, is_in) in [
            ("admins", "ann", true),
            ("admins", "bob", true),
            ("admins", "eve", true),
            ("admins", "carl", false),
            ("staff", "carl", true),
            ("staff", "dora", true),
            ("Staff", "carl", false),
            ("empty", "", false),
            ("nobody", "ann", false),
        ] {
            assert_eq!(is_in, groups.has(group, user.as_bytes()), "{user} in {group}");
        }
        assert!(groups.exists("empty") && !groups.exists("nobody"));
    }

    #[test]
    fn what_is_wrong_is_said() {
        for (text, sentence) in [
            ("admins", "line 1: write group: user user"),
            ("\n: ann", "line 2: a group has a name of one word"),
            ("the admins: ann", "line 1: a group has a name of one word"),
            (" admins: ann", "line 1: a group has a name of one word"),
            ("admins: an\0n", "line 1: there is a control character"),
        ] {
            let wrongs = Groups::read(text).err().unwrap_or_default();
            let said: Vec<_> = wrongs.iter().map(ToString::to_string).collect();

            assert_eq!(vec![sentence], said, "{text}");
        }
    }
}
