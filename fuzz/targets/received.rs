//! Any bytes as the head of an answer: reading a part of it never contradicts reading all of it.
#![no_main]

libfuzzer_sys::fuzz_target!(|data: &[u8]| adyton_fuzz::targets::received(data));
