//! The command line of a run, as its report shows it: a reader can repeat it, and secrets are hidden.

use std::ffi::OsString;

/// Fields whose values are secrets.
const SECRET_FIELDS: [&str; 3] = ["authorization", "proxy-authorization", "cookie"];

/// Options whose values are secrets.
const SECRET_OPTIONS: [&str; 4] = ["-b", "--cookie", "-u", "--user"];

/// Stands for a secret.
const HIDDEN: &str = "...";

/// The words from `bench` on, quoted for a shell; empty if no command line has started the run.
pub(super) fn told(words: impl Iterator<Item = OsString>) -> String {
    let words = words.map(|word| word.to_string_lossy().into_owned()).skip_while(|word| word != "bench");
    let (mut out, mut hides) = (String::new(), false);
    for word in words {
        out.push_str(if out.is_empty() { "adyton " } else { " " });
        out.push_str(&quoted(&if hides { HIDDEN.to_owned() } else { without_secret(&word) }));
        hides = SECRET_OPTIONS.contains(&word.as_str());
    }
    out
}

/// Hides a field's secret value and keeps its name, also behind `--header=` or `-H`.
fn without_secret(word: &str) -> String {
    let option = |name: &str| word.strip_prefix(name).filter(|rest| !rest.is_empty());
    let joined = SECRET_OPTIONS.iter().find_map(|name| {
        let sign = if name.starts_with("--") { "=" } else { "" };
        option(&format!("{name}{sign}")).map(|_| format!("{name}{sign}{HIDDEN}"))
    });
    // A word that begins with `--` is no short option with its value joined.
    if let Some(joined) = joined.filter(|_| !word.starts_with("--") || word.contains('=')) {
        return joined;
    }
    let Some((name, _)) = word.split_once(':') else { return word.to_owned() };
    let bare = name.trim_start_matches("--header=").trim_start_matches("-H").trim().to_ascii_lowercase();
    if SECRET_FIELDS.contains(&bare.as_str()) { format!("{name}: {HIDDEN}") } else { word.to_owned() }
}

/// Quotes a word with apostrophes, if a shell would misread it without.
fn quoted(word: &str) -> String {
    let is_plain = |letter: char| letter.is_alphanumeric() || "-_./:=,@%+".contains(letter);
    if !word.is_empty() && word.chars().all(is_plain) {
        return word.to_owned();
    }
    format!("'{}'", word.replace('\'', "'\\''"))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn of(words: &[&str]) -> String {
        told(words.iter().map(OsString::from))
    }

    #[test]
    fn what_is_repeated() {
        assert_eq!(
            "adyton bench http://a/ -H 'A: it'\\''s' --fail-if 'p99>1ms'",
            of(&["python", "-m", "adyton", "bench", "http://a/", "-H", "A: it's", "--fail-if", "p99>1ms"])
        );
        assert_eq!("", of(&["pytest"]));
    }

    #[test]
    fn what_is_hidden() {
        for (words, expected) in [
            (&["-H", "Authorization: Bearer x"][..], "-H 'Authorization: ...'"),
            (&["--header=cookie:a=x"], "'--header=cookie: ...'"),
            (&["-HCookie:a=x"], "'-HCookie: ...'"),
            (&["--cookie", "a=x"], "--cookie ..."),
            (&["--cookie=a=x"], "--cookie=..."),
            (&["-ba=x"], "-b..."),
            (&["curl", "-u", "a:x", "http://a/"], "curl -u ... http://a/"),
        ] {
            assert_eq!(format!("adyton bench {expected}"), of(&[&["bench"], words].concat()));
        }
    }
}
