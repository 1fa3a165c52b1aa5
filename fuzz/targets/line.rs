//! Any bytes as the stream of a worker to its supervisor: the messages of its lines, however they are cut.
#![no_main]

libfuzzer_sys::fuzz_target!(|data: &[u8]| adyton_fuzz::targets::line(data));
