//! A file that is not TOML as a whole: its intact tables are read all the same.

use std::ops::Range;

/// A text whose broken tables are emptied, so that everything else keeps its place.
pub(super) struct Mended {
    pub(crate) text: String,
    /// The broken tables, each from its name on.
    pub(super) broken: Vec<Range<usize>>,
}

/// Empties the tables that are not TOML at these bytes; returns `None` if the name of a table is among them.
pub(super) fn mend(text: &str, wrong: impl Iterator<Item = usize>) -> Option<Mended> {
    let lines = text.match_indices('\n').map(|(at, _)| at + 1);
    let is_name = |at: &usize| {
        text.get(*at..).is_some_and(|rest| rest.trim_start_matches([' ', '\t']).starts_with('['))
    };
    let names: Vec<usize> = std::iter::once(0).chain(lines).filter(is_name).collect();
    let mut bytes = text.as_bytes().to_vec();
    let mut broken = Vec::new();
    for at in wrong {
        let next = names.partition_point(|name| *name <= at);
        let start = *names[..next].last()?;
        let end = names.get(next).copied().unwrap_or(text.len());
        let keys = start + text.get(start..end)?.find('\n')?;
        if at <= keys {
            return None;
        }
        for byte in bytes.get_mut(keys..end)?.iter_mut().filter(|byte| **byte != b'\n') {
            *byte = b' ';
        }
        broken.push(start..end);
    }
    Some(Mended { text: String::from_utf8(bytes).ok()?, broken })
}

#[cfg(test)]
mod tests {
    use super::mend;

    #[test]
    fn tables_are_emptied() {
        for (text, wrong, expected) in [
            ("[a]\nb = \n[[c]]\nd = 1", &[8][..], Some("[a]\n    \n[[c]]\nd = 1")),
            ("[a]\nb = 1\n[[c]]\nd = \u{e9}\n", &[20], Some("[a]\nb = 1\n[[c]]\n      \n")),
            ("[a]\nb =\n [c]\nd =", &[7, 15], Some("[a]\n   \n [c]\n   ")),
            ("[a\nb = 1", &[2], None),
            ("b = \n[a]", &[3], None),
            ("[a]", &[3], None),
        ] {
            let mended = mend(text, wrong.iter().copied());

            assert_eq!(expected, mended.as_ref().map(|mended| mended.text.as_str()), "{text}");
        }
    }
}
