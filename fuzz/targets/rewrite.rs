//! Any bytes as a path that rules of a site change: the result is one path, decoded to what the rule has
//! made.
#![no_main]

libfuzzer_sys::fuzz_target!(|data: &[u8]| adyton_fuzz::targets::rewrite(data));
