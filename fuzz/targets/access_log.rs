//! Any bytes as a request, and as a format: one line in the access log, and nothing of the client's outside its quotes.
#![no_main]

libfuzzer_sys::fuzz_target!(|data: &[u8]| adyton_fuzz::targets::access_log(data));
