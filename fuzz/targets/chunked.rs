//! Any bytes as a chunked body: decoded to what the reference decodes, also with ends behind it.
#![no_main]

libfuzzer_sys::fuzz_target!(|data: &[u8]| adyton_fuzz::targets::chunked(data));
