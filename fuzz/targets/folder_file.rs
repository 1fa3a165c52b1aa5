//! Any bytes as the file of a folder's settings: sentences about mistakes, or no more settings than the file may have.
#![no_main]

libfuzzer_sys::fuzz_target!(|data: &[u8]| adyton_fuzz::targets::folder_file(data));
