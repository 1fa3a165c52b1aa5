//! Any bytes as fields of an application whose answer may be compressed, and as what a client says that it takes.
#![no_main]

libfuzzer_sys::fuzz_target!(|data: &[u8]| adyton_fuzz::targets::coded_head(data));
