//! Any bytes as a chunked body: decoded to what the twin decodes.
#![no_main]

libfuzzer_sys::fuzz_target!(|data: &[u8]| adyton_fuzz::chunks::check(data));
