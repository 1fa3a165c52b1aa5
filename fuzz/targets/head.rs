//! Any bytes as a request head: taken exactly when the reference takes them, also with an end behind them.
#![no_main]

libfuzzer_sys::fuzz_target!(|data: &[u8]| adyton_fuzz::targets::head(data));
