//! Any bytes as a request head: taken exactly when the twin takes them, also with an end behind them.
#![no_main]

use adyton_fuzz::heads;
use adyton_http1::Limits;

libfuzzer_sys::fuzz_target!(|data: &[u8]| {
    let tight = Limits { line_bytes_max: 40, field_bytes_max: 30, head_bytes_max: 120, fields_max: 4 };
    for end in [&b""[..], b"\r\n\r\n", b" HTTP/1.0\r\n\r\n"] {
        let input = [data, end].concat();
        heads::check(&input, &Limits::default());
        heads::check(&input, &tight);
    }
});
