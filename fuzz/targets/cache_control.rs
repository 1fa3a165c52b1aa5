//! Any bytes as what an answer says of caches.
#![no_main]

libfuzzer_sys::fuzz_target!(|data: &[u8]| adyton_fuzz::targets::cache_control(data));
