//! Any bytes as the fields of an answer that tell caches what to keep.
#![no_main]

libfuzzer_sys::fuzz_target!(|data: &[u8]| adyton_fuzz::targets::cache_control(data));
