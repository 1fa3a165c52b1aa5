//! Any bytes as a stream of requests: in pieces of any sizes the same as in one.
#![no_main]

libfuzzer_sys::fuzz_target!(|data: &[u8]| adyton_fuzz::targets::split(data));
