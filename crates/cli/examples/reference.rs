//! Prints the reference page: `cargo run -p adyton-cli --example reference > docs/reference/settings.md`.

fn main() {
    print!("{}", adyton_cli::reference());
}
