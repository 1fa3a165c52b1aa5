//! Any bytes as a chunked body: decoded to what the twin decodes, also with ends behind it.
#![no_main]

libfuzzer_sys::fuzz_target!(|data: &[u8]| {
    // Of a body that breaks off little can be said.
    for end in [&b""[..], b"\r\n\r\n", b"\"\r\n\r\n"] {
        adyton_fuzz::chunks::check(&[data, end].concat());
    }
});
