//! The name that a user probably meant by an unknown name.

/// Returns the nearest of `names` to `wrong`, if one is near enough to be worth a guess.
///
/// Near enough is one edit in three letters; a name that `wrong` begins or ends is always near.
pub(crate) fn nearest<'n>(wrong: &str, names: impl Iterator<Item = &'n str>) -> Option<&'n str> {
    let wrong = wrong.to_lowercase();
    let edits_max = (wrong.chars().count() / 3).max(1);
    names
        .map(|name| (edits(&wrong, &name.to_lowercase()), name))
        .filter(|(edits, name)| *edits <= edits_max || holds(name, &wrong))
        .min_by_key(|(edits, _)| *edits)
        .map(|(_, name)| name)
}

/// Whether a name begins or ends with `wrong`. `wrong` must have four letters, because many names begin with a shorter
/// word.
fn holds(name: &str, wrong: &str) -> bool {
    wrong.len() >= 4 && (name.starts_with(wrong) || name.ends_with(wrong))
}

/// Returns the optimal string alignment distance: insertions, deletions, replacements, and swapped neighbours.
fn edits(a: &str, b: &str) -> usize {
    let (a, b): (Vec<char>, Vec<char>) = (a.chars().collect(), b.chars().collect());
    // Three rows of the usual table: `i - 2` for the swaps, `i - 1`, and the one being filled.
    let mut before = vec![0; b.len() + 1];
    let mut above: Vec<usize> = (0..=b.len()).collect();
    for i in 1..=a.len() {
        let mut row = vec![i; b.len() + 1];
        for j in 1..=b.len() {
            let replaced = above[j - 1] + usize::from(a[i - 1] != b[j - 1]);
            row[j] = replaced.min(above[j] + 1).min(row[j - 1] + 1);
            if i > 1 && j > 1 && a[i - 1] == b[j - 2] && a[i - 2] == b[j - 1] {
                row[j] = row[j].min(before[j - 2] + 1);
            }
        }
        before = std::mem::replace(&mut above, row);
    }
    above[b.len()]
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn edits_are_counted() {
        let cases = [
            ("", "", 0),
            ("a", "", 1),
            ("", "ab", 2),
            ("abc", "abc", 0),
            ("abc", "acb", 1),
            ("kitten", "sitting", 3),
        ];
        for (a, b, expected) in cases {
            assert_eq!(edits(a, b), expected, "{a} {b}");
            assert_eq!(edits(b, a), expected, "{b} {a}");
        }
    }

    #[test]
    fn only_a_near_name_is_guessed() {
        let names = ["bind", "backlog", "header-timeout", "keep-alive-timeout"];
        let cases = [
            ("bnid", Some("bind")),
            ("BIND", Some("bind")),
            ("keep-alive-tiemout", Some("keep-alive-timeout")),
            ("keepalive-timeout", Some("keep-alive-timeout")),
            ("header", Some("header-timeout")),
            ("workers", None),
        ];
        for (wrong, expected) in cases {
            assert_eq!(nearest(wrong, names.into_iter()), expected, "{wrong}");
        }
    }
}
