//! Any bytes as a request to a folder of files: the answer is complete, true, and has nothing from outside the folder.
#![no_main]

libfuzzer_sys::fuzz_target!(|data: &[u8]| adyton_fuzz::targets::site(data));
