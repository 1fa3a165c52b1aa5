//! Any bytes as a request to a folder of files: a whole and honest answer, and nothing from outside of it.
#![no_main]

libfuzzer_sys::fuzz_target!(|data: &[u8]| adyton_fuzz::targets::site(data));
