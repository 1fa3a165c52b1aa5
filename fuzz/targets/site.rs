//! Any bytes as a request to a folder of files: a whole and honest answer, with nothing from outside the
//! folder.
#![no_main]

libfuzzer_sys::fuzz_target!(|data: &[u8]| adyton_fuzz::targets::site(data));
