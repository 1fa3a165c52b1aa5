//! Any bytes as a path that rules of a site rewrite: the result is one path, which decodes to the text of the rule.
#![no_main]

libfuzzer_sys::fuzz_target!(|data: &[u8]| adyton_fuzz::targets::rewrite(data));
