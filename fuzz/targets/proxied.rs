//! Any bytes as a header of the PROXY protocol and as fields of a request: what proxies tell, and what nobody can.
#![no_main]

use adyton_fuzz::proxied::{check_fields, check_header};

libfuzzer_sys::fuzz_target!(|data: &[u8]| {
    check_header(data);
    check_fields(data, &["Forwarded"]);
    check_fields(data, &["X-Forwarded-For"]);
    check_fields(
        data,
        &[
            "X-Real-IP",
            "X-Forwarded-SSL",
            "Forwarded",
            "X-Forwarded-Port",
            "X-Script-Name",
            "X-Forwarded-Server",
        ],
    );
});
