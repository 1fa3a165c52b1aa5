//! Any bytes as a stream of requests: in pieces of any sizes the same as in one.
#![no_main]

use adyton_fuzz::feed;
use adyton_http1::Limits;

libfuzzer_sys::fuzz_target!(|data: &[u8]| {
    if let Some((sizes, stream)) = data.split_first_chunk::<4>() {
        feed::check(stream, sizes, &Limits::default());
    }
});
