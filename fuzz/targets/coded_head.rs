//! Any bytes as fields of an answer that may be compressed, and as the `Accept-Encoding` of a client.
#![no_main]

libfuzzer_sys::fuzz_target!(|data: &[u8]| adyton_fuzz::targets::coded_head(data));
