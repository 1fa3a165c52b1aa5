//! Any bytes as the output of a script: a head is found wherever it is cut, and no field holds another one.
#![no_main]

libfuzzer_sys::fuzz_target!(|data: &[u8]| adyton_fuzz::targets::script_head(data));
