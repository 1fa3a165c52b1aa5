//! Any bytes as `Authorization`, and as a file of users: nobody gets in, and mistakes are named.
#![no_main]

libfuzzer_sys::fuzz_target!(|data: &[u8]| adyton_fuzz::targets::authorization(data));
