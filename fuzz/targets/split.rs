//! Any bytes as a stream of requests: read in pieces of any sizes as in one.
#![no_main]

libfuzzer_sys::fuzz_target!(|data: &[u8]| adyton_fuzz::targets::split(data));
