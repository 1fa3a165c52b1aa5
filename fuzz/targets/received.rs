//! Any bytes as the head of an answer: what its beginnings say, the whole says, too.
#![no_main]

libfuzzer_sys::fuzz_target!(|data: &[u8]| adyton_fuzz::targets::received(data));
