//! Settings that a folder may have in a file of its own, named by words that each stand for some keys.

/// The words that a site allows to its folders.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct MaySet(u16);

/// The words, and the keys that each stands for.
const WORDS: [(&str, &[&str]); 9] = [
    ("allow", &["allow", "deny"]),
    ("auth", &["auth", "auth-realm", "auth-users", "auth-groups", "auth-group-file", "auth-satisfy"]),
    ("headers", &["headers", "add-headers", "remove-headers"]),
    ("cache-control", &["cache-control"]),
    ("errors", &["error-pages"]),
    ("redirect", &["redirects"]),
    ("cgi", &["cgi"]),
    ("scripts", &["scripts"]),
    ("index", &["index"]),
];

impl MaySet {
    /// All words.
    pub const ALL: MaySet = MaySet((1 << WORDS.len()) - 1);

    /// Adds a word; `none` stands alone, for no word.
    ///
    /// # Errors
    ///
    /// Half a sentence with the possible words.
    pub(crate) fn add(&mut self, word: &str) -> Result<(), String> {
        if word == "none" && self.is_empty() {
            return Ok(());
        }
        let Some(number) = WORDS.iter().position(|(other, _)| *other == word) else {
            let words: Vec<&str> = WORDS.iter().map(|(word, _)| *word).collect();
            return Err(format!("the words are {}", words.join(", ")));
        };
        self.0 |= 1 << number;
        Ok(())
    }

    /// Returns each word with the keys that it stands for.
    pub(crate) fn words() -> impl Iterator<Item = (&'static str, &'static [&'static str])> {
        WORDS.into_iter()
    }

    /// Whether folders may set no key at all.
    pub fn is_empty(self) -> bool {
        self == MaySet::default()
    }

    /// Whether folders may set this key.
    pub(crate) fn has(self, key: &str) -> bool {
        let mut words = WORDS.iter().enumerate();
        words.any(|(number, (_, keys))| self.0 & (1 << number) != 0 && keys.contains(&key))
    }

    /// Whether folders may have their programs run.
    pub fn lets_run(self) -> bool {
        self.has("cgi")
    }

    /// Whether folders may make their Python files pages.
    pub fn lets_have_pages(self) -> bool {
        self.has("scripts")
    }

    /// Whether folders may name the files that answer for the folder itself.
    pub fn lets_name_indexes(self) -> bool {
        self.has("index")
    }

    /// Whether folders may have pages for errors.
    pub fn lets_have_error_pages(self) -> bool {
        self.has("error-pages")
    }

    /// Returns the word that stands for a key, and the key, if folders may ever set that key.
    pub(crate) fn word_of(key: &str) -> Option<(&'static str, &'static str)> {
        let mut all = WORDS.iter().flat_map(|(word, keys)| keys.iter().map(|own| (*word, *own)));
        all.find(|(_, own)| *own == key)
    }

    /// Returns the keys that folders may set.
    pub(crate) fn keys(self) -> impl Iterator<Item = &'static str> {
        WORDS.iter().flat_map(|(_, keys)| keys.iter().copied()).filter(move |key| self.has(key))
    }
}

#[cfg(test)]
mod tests {
    use super::{MaySet, WORDS};

    #[test]
    fn words_and_keys() {
        let mut some = MaySet::default();
        assert!(some.is_empty() && some.keys().next().is_none());
        assert_eq!(Ok(()), some.add("allow"));

        assert_eq!(vec!["allow", "deny"], some.keys().collect::<Vec<_>>());
        assert_eq!(
            Err("the words are allow, auth, headers, cache-control, errors, redirect, cgi, scripts, index"
                .to_owned()),
            some.add("files")
        );
        for (word, keys) in WORDS {
            assert_eq!(Ok(()), some.add(word));
            assert!(keys.iter().all(|key| some.has(key) && MaySet::word_of(key) == Some((word, *key))));
        }
        assert_eq!(MaySet::ALL, some);
        assert!(!some.has("files") && MaySet::word_of("app").is_none());
    }
}
