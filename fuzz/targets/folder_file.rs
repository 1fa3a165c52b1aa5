//! Any bytes as a file in which a folder says how it is served: sentences about what is wrong, or no more than it may say.
#![no_main]

libfuzzer_sys::fuzz_target!(|data: &[u8]| adyton_fuzz::targets::folder_file(data));
