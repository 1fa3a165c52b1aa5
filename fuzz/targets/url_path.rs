//! Any bytes as a path: decoded once, and never the name of anything outside the root.
#![no_main]

libfuzzer_sys::fuzz_target!(|data: &[u8]| adyton_fuzz::targets::url_path(data));
