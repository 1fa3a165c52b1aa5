//! Invariants of every text as the file of a folder's settings.

use std::net::{IpAddr, Ipv4Addr, Ipv6Addr};
use std::path::Path;

use adyton_cli::{FolderRuns, FolderSettings, MaySet, folder_loops, read_folder, read_htaccess};
use adyton_import::{FolderHandlers, FolderLines, import_folder};
use adyton_route::{Door, PathPattern};

/// Panics unless a text is refused with sentences, or sets no more than it may, and does not open a folder that one of
/// its lines closes.
pub(crate) fn check(bytes: &[u8]) {
    let Ok(text) = std::str::from_utf8(bytes) else { return };
    check_own(text);
    check_apache(text);
}

fn check_own(text: &str) {
    if let Some(said) = own(text, MaySet::ALL) {
        for fault in folder_loops(&said.redirects, b"/a") {
            assert!(!fault.to_string().is_empty(), "nothing is said");
        }
    }
    if let Some(said) = own(text, MaySet::default()) {
        assert!(is_silent(&said), "it may say nothing: {said:?}");
    }
    if let Some(said) = own(&format!("deny = \"all\"\n{text}"), MaySet::ALL) {
        assert!(is_closed(&said), "it is open: {said:?}");
    }
}

fn check_apache(text: &str) {
    for takes_handlers in [false, true] {
        apache(text, MaySet::ALL, takes_handlers);
        if let Some((said, lines)) = apache(text, MaySet::default(), takes_handlers) {
            let handlers = lines.handlers.as_ref();
            assert!(is_silent(&said), "it may say nothing: {said:?}");
            assert_eq!(takes_handlers, handlers.is_some());
            // Handlers, pages and indexes are compared with the words of the site later.
            assert!(takes_handlers || handlers.is_none_or(FolderHandlers::is_empty));
        }
    }
    // `Require` and `Satisfy` change the meaning of the lines behind them.
    let small = text.to_ascii_lowercase();
    if ["require", "satisfy"].iter().any(|word| small.contains(word)) {
        return;
    }
    // The text may end in a backslash, which continues its last line in the next one.
    if let Some((said, _)) = apache(&format!("{text}\n\nRequire all denied\n"), MaySet::ALL, true) {
        assert!(is_closed(&said), "it is open: {said:?}");
    }
}

/// The settings in an `.adyton.toml`, unless it is refused.
fn own(text: &str, may: MaySet) -> Option<FolderSettings> {
    let failure = match read_folder(Path::new("/a/.adyton.toml"), text, may) {
        Ok(said) => return Some(said),
        Err(failure) => failure,
    };
    for sentence in failure.sentences() {
        assert!(sentence.starts_with("/a/.adyton.toml:"), "no place is said: {sentence}");
    }
    None
}

/// The settings in an `.htaccess`, unless it is refused.
fn apache(text: &str, may: MaySet, takes_handlers: bool) -> Option<(FolderSettings, FolderLines)> {
    let (made, lines) = match import_folder("/a/.htaccess", text, takes_handlers) {
        Ok(made) => made,
        Err(mistake) => {
            assert!(!mistake.what.is_empty() && mistake.place.line > 0, "no place is said: {mistake}");
            return None;
        }
    };
    if made.opens() {
        return None;
    }
    match read_htaccess(&made.text, may) {
        Ok(said) => Some((said, lines)),
        Err(mistakes) => {
            assert!(!mistakes.is_empty() && mistakes.iter().all(|what| !what.is_empty()), "nothing is said");
            None
        }
    }
}

/// Whether no setting needs a word in `may-set`.
fn is_silent(said: &FolderSettings) -> bool {
    let FolderSettings { settings, redirects, runs } = said;
    settings.admission().is_open()
        && settings.access.auth.is_none()
        && settings.head_edits().is_empty()
        && settings.messages.error_pages.is_empty()
        && redirects.is_empty()
        && *runs == FolderRuns::default()
}

/// Whether no client reaches the files of the folder.
fn is_closed(said: &FolderSettings) -> bool {
    let clients: [IpAddr; 3] =
        [Ipv4Addr::LOCALHOST.into(), Ipv4Addr::new(192, 0, 2, 1).into(), Ipv6Addr::LOCALHOST.into()];
    let admission = said.settings.admission();
    let is_guarded = said.settings.access.auth.is_some();
    // A redirect of all paths leaves no file to reach.
    let is_everything = |path: &PathPattern| *path == PathPattern::Prefix(Box::default());
    let is_refused = said.redirects.iter().any(|redirect| is_everything(&redirect.path));
    is_refused || clients.iter().all(|client| admission.door(is_guarded, Some(*client)) == Door::Closed)
}
