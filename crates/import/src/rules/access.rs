//! Rules of which the first match counts, turned into two lists, of which `deny` takes precedence over `allow`.

/// A rule: `allow 10.0.0.0/8`, `deny all`.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Rule<P> {
    pub(crate) allows: bool,
    pub(crate) whom: String,
    pub(crate) place: P,
}

/// Rules as lists.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Lists<P> {
    pub(crate) allow: Vec<(String, P)>,
    pub(crate) deny: Vec<(String, P)>,
    /// The rule that denies everybody, if there is one.
    pub(crate) nobody: Option<P>,
    /// A network that is denied behind one that is allowed: if they overlap, the lists deny more clients than the
    /// rules.
    pub(crate) stricter: Option<P>,
}

/// Makes lists of rules in order; a client that no rule matches is allowed.
pub(crate) fn lists<P: Clone>(rules: &[Rule<P>]) -> Lists<P> {
    let mut lists = Lists { allow: Vec::new(), deny: Vec::new(), nobody: None, stricter: None };
    for rule in rules {
        let whom = (rule.whom.clone(), rule.place.clone());
        match (rule.allows, rule.whom == "all") {
            (true, false) => lists.allow.push(whom),
            (false, false) => {
                if !lists.allow.is_empty() && lists.stricter.is_none() {
                    lists.stricter = Some(rule.place.clone());
                }
                lists.deny.push(whom);
            }
            // No rule behind `allow all` counts, and `allow all` includes the addresses that earlier rules allow.
            (true, true) => {
                lists.allow.clear();
                return lists;
            }
            (false, true) => {
                if lists.allow.is_empty() {
                    lists.nobody = Some(rule.place.clone());
                }
                return lists;
            }
        }
    }
    lists.allow.clear();
    lists
}

/// Rules as lists, for a route where a password is enough, too: addresses that need no password, and addresses that are
/// denied here, although the rules would only ask them for a password.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Either<P> {
    pub(crate) allow: Vec<(String, P)>,
    pub(crate) deny: Vec<(String, P)>,
    /// Whether all other clients need no password, either.
    pub(crate) everyone: bool,
}

/// Makes lists of rules in order; a client that no rule matches needs a password.
pub(crate) fn either<P: Clone>(rules: &[Rule<P>]) -> Either<P> {
    let end = rules.iter().position(|rule| rule.whom == "all").unwrap_or(rules.len());
    let everyone = rules.get(end).is_some_and(|rule| rule.allows);
    let some = |allows: bool| -> Vec<(String, P)> {
        let some = rules[..end].iter().filter(|rule| rule.allows == allows);
        some.map(|rule| (rule.whom.clone(), rule.place.clone())).collect()
    };
    let allow = if everyone { Vec::new() } else { some(true) };
    // If no address is free of a password, denied addresses are asked for one, as all others are.
    let deny = if allow.is_empty() && !everyone { Vec::new() } else { some(false) };
    Either { allow, deny, everyone }
}

#[cfg(test)]
mod tests {
    use super::{Rule, either, lists};

    #[test]
    fn rules_beside_passwords() {
        let cases = [
            ("", "|"),
            ("+a -all", "a|"),
            ("+a", "a|"),
            ("-b", "|"),
            ("-b -all", "|"),
            ("-b +a -all", "a|b"),
            ("-b +all", "|b!"),
            ("+a +all", "|!"),
            ("-all +a", "|"),
        ];
        for (text, expected) in cases {
            let found = either(&rules(text));
            let mark = if found.everyone { "!" } else { "" };

            assert_eq!(expected, format!("{}|{}{mark}", names(&found.allow), names(&found.deny)), "{text}");
        }
    }

    fn rules(text: &str) -> Vec<Rule<()>> {
        let rule = |word: &str| Rule { allows: word.starts_with('+'), whom: word[1..].to_owned(), place: () };
        text.split_whitespace().map(rule).collect()
    }

    fn names(list: &[(String, ())]) -> String {
        list.iter().map(|(name, ())| name.as_str()).collect::<Vec<_>>().join(" ")
    }

    /// Returns the lists for rules such as `+a -b`, as `allow | deny`; `!`: nobody is let in; `?`: the lists are
    /// stricter.
    fn of(text: &str) -> String {
        let lists = lists(&rules(text));
        let mark = if lists.nobody.is_some() { "!" } else { "" };
        let stricter = if lists.stricter.is_some() { "?" } else { "" };
        format!("{}|{}{mark}{stricter}", names(&lists.allow), names(&lists.deny))
    }

    #[test]
    fn rules_as_lists() {
        let cases = [
            ("", "|"),
            ("+a -all", "a|"),
            ("-b +a -all", "a|b"),
            ("-b +all", "|b"),
            ("-b", "|b"),
            ("+a", "|"),
            ("-all", "|!"),
            ("-all +a", "|!"),
            ("+a -b -all", "a|b?"),
            ("+a -b", "|b?"),
            ("+a +all -b", "|"),
            ("-b -all", "|b!"),
        ];
        for (rules, expected) in cases {
            assert_eq!(expected, of(rules), "{rules}");
        }
    }
}
