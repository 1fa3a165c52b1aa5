//! Any bytes as a `Range` field, for a small file and for one of any length: the ranges that the twin finds.
#![no_main]

use adyton_fuzz::range_lists;

libfuzzer_sys::fuzz_target!(|data: &[u8]| {
    if let Some((bytes, value)) = data.split_first_chunk::<8>() {
        range_lists::check(value, bytes[0].into());
        range_lists::check(value, u64::from_le_bytes(*bytes));
    }
});
