//! Any bytes as the fields of an application: the answer has only lines that the application may write.
#![no_main]

libfuzzer_sys::fuzz_target!(|data: &[u8]| adyton_fuzz::targets::response(data));
