//! Any bytes as a configuration of Apache: a sentence about a mistake, or a file of sites that is right.
#![no_main]

libfuzzer_sys::fuzz_target!(|data: &[u8]| adyton_fuzz::targets::import_apache(data));
