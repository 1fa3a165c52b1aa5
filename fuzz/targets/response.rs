//! Any bytes as what an application says: no line in the answer but those that it may say.
#![no_main]

libfuzzer_sys::fuzz_target!(|data: &[u8]| adyton_fuzz::targets::response(data));
