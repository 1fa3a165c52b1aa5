//! Any bytes as a message between door and group, with any descriptors: one connection or none, and none stays open.
#![no_main]

libfuzzer_sys::fuzz_target!(|data: &[u8]| adyton_fuzz::targets::passage(data));
