//! Any bytes as a header of the PROXY protocol and as fields of a request: only trusted proxies are believed.
#![no_main]

libfuzzer_sys::fuzz_target!(|data: &[u8]| adyton_fuzz::targets::proxied(data));
