//! Any bytes as what a process says on the line to its supervisor: the messages of its lines, however they are cut.
#![no_main]

libfuzzer_sys::fuzz_target!(|data: &[u8]| adyton_fuzz::targets::line(data));
