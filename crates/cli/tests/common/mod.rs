//! The one way into the crate for all tests: words of the command line, pairs of the environment.

#![allow(
    clippy::unwrap_used,
    clippy::expect_used,
    clippy::panic,
    reason = "a test ends at its first surprise"
)]
#![allow(dead_code, reason = "each test file is a program of its own and uses a part of this")]

use adyton_cli::{Command, Failure, Settings, from_keywords, parse};

/// Returns the command that `adyton` makes of these words and these variables.
pub(crate) fn run(words: &[&str], variables: &[(&str, &str)]) -> Result<Command, Failure> {
    let words: Vec<String> = words.iter().map(|&word| word.to_owned()).collect();
    parse(&words, &owned(variables), false, None)
}

/// Returns the settings of `adyton serve app` with these flags and variables.
pub(crate) fn serve(flags: &[&str], variables: &[(&str, &str)]) -> Result<Settings, Failure> {
    let words = [&["serve", "app"], flags].concat();
    match run(&words, variables)? {
        Command::Serve(settings) => Ok(*settings),
        other => panic!("{words:?}: {other:?}"),
    }
}

/// Returns the sentence with which `adyton serve app` refuses these flags and variables; the exit status must be 2.
pub(crate) fn refusal(flags: &[&str], variables: &[(&str, &str)]) -> String {
    let failure = serve(flags, variables).expect_err("must be refused");
    assert_eq!(failure.status, 2);
    failure.message
}

/// Returns the text of a command that only prints.
pub(crate) fn printed(words: &[&str]) -> String {
    match run(words, &[]) {
        Ok(Command::Done(text)) => text,
        other => panic!("{words:?}: {other:?}"),
    }
}

/// Returns the settings of `adyton.serve(app, ...)`.
pub(crate) fn keywords(
    keywords: &[(&str, &[&str])],
    variables: &[(&str, &str)],
) -> Result<Settings, Failure> {
    let owned_values = |values: &[&str]| values.iter().map(|&value| value.to_owned()).collect();
    let keywords: Vec<(String, Vec<String>)> =
        keywords.iter().map(|&(name, values)| (name.to_owned(), owned_values(values))).collect();
    from_keywords(&keywords, &owned(variables))
}

fn owned(pairs: &[(&str, &str)]) -> Vec<(String, String)> {
    pairs.iter().map(|&(name, value)| (name.to_owned(), value.to_owned())).collect()
}
