//! Any bytes as a header of the PROXY protocol and as fields of a request: what proxies tell, and what nobody can.
#![no_main]

libfuzzer_sys::fuzz_target!(|data: &[u8]| adyton_fuzz::targets::proxied(data));
