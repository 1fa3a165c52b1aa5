//! Prints the reference page: `cargo run -p adyton-log --example messages > docs/reference/messages.md`.

fn main() {
    print!("{}", adyton_log::messages::reference());
}
