//! Prints a reference page: `cargo run -p adyton-cli --example reference > docs/reference/settings.md`, and with
//! `-- bench` behind it that of `docs/reference/bench.md`.

fn main() {
    let is_bench = std::env::args().nth(1).is_some_and(|topic| topic == "bench");
    print!("{}", if is_bench { adyton_cli::bench_reference() } else { adyton_cli::reference() });
}
