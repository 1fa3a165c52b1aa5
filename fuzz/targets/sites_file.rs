//! Any bytes as a file of sites: sentences about what is wrong, or a router that finds what it should.
#![no_main]

libfuzzer_sys::fuzz_target!(|data: &[u8]| adyton_fuzz::targets::sites_file(data));
