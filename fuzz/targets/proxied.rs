//! Any bytes as what a proxy says: before a connection, and in the fields of a request.
#![no_main]

use adyton_fuzz::proxied;

libfuzzer_sys::fuzz_target!(|data: &[u8]| {
    proxied::check_header(data);
    proxied::check_fields(data);
});
