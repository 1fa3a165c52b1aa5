//! Names with wildcards, as in `include sites/*.conf`.

/// Whether a name, which has no slash, fits a pattern of `*`, `?` and `[a-z]`.
///
/// A dot at the beginning has to be written, as in a shell.
pub fn matches(pattern: &str, name: &str) -> bool {
    if name.starts_with('.') && !pattern.starts_with('.') {
        return false;
    }
    let (pattern, name): (Vec<char>, Vec<char>) = (pattern.chars().collect(), name.chars().collect());
    let (mut at, mut read) = (0, 0);
    // Where matching resumes if the rest does not match: the last star then takes one more letter.
    let mut star: Option<(usize, usize)> = None;
    while read < name.len() {
        if pattern.get(at) == Some(&'*') {
            star = Some((at + 1, read));
            at += 1;
        } else if let Some(next) = fits(&pattern, at, name[read]) {
            at = next;
            read += 1;
        } else if let Some((behind, taken)) = star {
            star = Some((behind, taken + 1));
            at = behind;
            read = taken + 1;
        } else {
            return false;
        }
    }
    pattern[at..].iter().all(|sign| *sign == '*')
}

/// Returns where the pattern goes on if its next part, which is no star, matches this letter.
fn fits(pattern: &[char], at: usize, letter: char) -> Option<usize> {
    match pattern.get(at)? {
        '?' => Some(at + 1),
        '[' => match set(pattern, at, letter) {
            Some((has, next)) => has.then_some(next),
            // A bracket without an end is a letter.
            None => (letter == '[').then_some(at + 1),
        },
        '\\' if at + 1 < pattern.len() => (pattern[at + 1] == letter).then_some(at + 2),
        sign => (*sign == letter).then_some(at + 1),
    }
}

/// Whether `[a-z]` or `[!a-z]` matches this letter, and where the pattern goes on; `None` if the bracket has no end.
fn set(pattern: &[char], at: usize, letter: char) -> Option<(bool, usize)> {
    let negated = matches!(pattern.get(at + 1), Some('!' | '^'));
    let first = at + 1 + usize::from(negated);
    // A closing bracket that stands first is one of the letters.
    let end = (first + 1..pattern.len()).find(|&end| pattern[end] == ']')?;
    let (mut has, mut from) = (false, first);
    while from < end {
        if pattern[from + 1] == '-' && from + 2 < end {
            has |= pattern[from] <= letter && letter <= pattern[from + 2];
            from += 3;
        } else {
            has |= pattern[from] == letter;
            from += 1;
        }
    }
    Some((has != negated, end + 1))
}

#[cfg(test)]
mod tests {
    use super::matches;

    #[test]
    fn names_and_patterns() {
        let cases = [
            ("*.conf", "a.conf", true),
            ("*.conf", ".conf", false),
            (".*", ".conf", true),
            ("*.conf", "a.conf.old", false),
            ("a*b*c", "axxbxbc", true),
            ("a*b*c", "axxbxb", false),
            ("?.conf", "a.conf", true),
            ("[a-c]*", "bit", true),
            ("[!a-c]*", "bit", false),
            ("[]]", "]", true),
            ("[a", "[a", true),
            ("", "", true),
            ("*", "", true),
            ("a\\*", "a*", true),
            ("a\\*", "ab", false),
        ];
        for (pattern, name, expected) in cases {
            assert_eq!(expected, matches(pattern, name), "{pattern} {name}");
        }
    }
}
