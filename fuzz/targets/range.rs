//! Any bytes as a `Range` field, for a small file and for one of any length: the ranges that the reference finds.
#![no_main]

libfuzzer_sys::fuzz_target!(|data: &[u8]| adyton_fuzz::targets::range(data));
