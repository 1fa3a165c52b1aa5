//! Any bytes as a request head: taken exactly when the twin takes them, with default limits and with tight ones.
#![no_main]

use adyton_fuzz::heads;
use adyton_http1::Limits;

libfuzzer_sys::fuzz_target!(|data: &[u8]| {
    let tight = Limits { line_bytes_max: 40, field_bytes_max: 30, head_bytes_max: 120, fields_max: 4 };
    heads::check(data, &Limits::default());
    heads::check(data, &tight);
});
