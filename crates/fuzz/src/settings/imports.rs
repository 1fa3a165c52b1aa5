//! Invariants of every text as a configuration of another server.

use adyton_cli::{Command, parse};
use adyton_import::{Found, Kind, import};

/// Panics unless a text is refused with a sentence, or becomes a file of sites that is right, apart from absent files
/// and from settings that contradict each other.
pub(crate) fn check(kind: Kind, bytes: &[u8]) {
    let Ok(text) = std::str::from_utf8(bytes) else { return };
    // An included file is the same text again, so inclusion ends at the limit, or because it is a circle.
    let mut include = |name: &str| -> Result<Vec<Found>, String> {
        Ok(vec![Found { name: name.to_owned(), text: text.to_owned() }])
    };
    let made = match import(kind, "x.conf", text, &mut include) {
        Ok(made) => made,
        Err(mistake) => return assert!(!mistake.what.is_empty(), "nothing is said"),
    };
    let words = ["check", "site.toml"].map(str::to_owned);
    match parse(&words, &[], false, Some(made.text.as_str().into())) {
        Ok(Command::Check(_)) => {}
        Ok(other) => panic!("{other:?} is no check"),
        Err(failure) => {
            for sentence in failure.sentences() {
                assert!(is_absence(sentence), "{sentence}\n{}", made.text);
            }
        }
    }
}

/// Whether a sentence is about something that is not on this disk, or about settings that contradict each other.
fn is_absence(sentence: &str) -> bool {
    const WORDS: [&str; 12] = [
        "there is no ",
        "is no folder",
        "is a folder",
        "is not a file of Python",
        "cannot be looked at",
        "behind the colon stands",
        "leave out ()",
        "the target is empty",
        "is given twice",
        // Two locations with the same path have this message; nginx itself refuses them.
        "this route is never taken",
        "requests are served at",
        "--",
    ];
    WORDS.iter().any(|words| sentence.contains(words))
}
