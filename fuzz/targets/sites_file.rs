//! Any bytes as a file of sites: sentences about mistakes, or a router that finds the right routes.
#![no_main]

libfuzzer_sys::fuzz_target!(|data: &[u8]| adyton_fuzz::targets::sites_file(data));
