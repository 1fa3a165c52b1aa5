//! Prints a generated page: `cargo run -p adyton-cli --example reference > docs/reference/settings.md`; `-- bench`, `-- sites`
//! and `-- messages` print `docs/reference/bench.md`, `sites.md` and `messages.md`, and `-- schema` prints
//! `docs/reference/sites.schema.json`.

use adyton_cli::{Command, parse};

fn main() {
    if std::env::args().nth(1).as_deref() == Some("messages") {
        print!("{}", adyton_log::messages::reference());
        return;
    }
    let words: Vec<String> = match std::env::args().nth(1).as_deref() {
        Some("schema") => vec!["schema".to_owned()],
        Some(topic) => vec!["reference".to_owned(), topic.to_owned()],
        None => vec!["reference".to_owned()],
    };
    if let Ok(Command::Done(page)) = parse(&words, &[], false, None) {
        print!("{page}");
    }
}
