//! Any bytes as a request, and as a format: one line in the access log, whose quotes hold all text of the client.
#![no_main]

libfuzzer_sys::fuzz_target!(|data: &[u8]| adyton_fuzz::targets::access_log(data));
