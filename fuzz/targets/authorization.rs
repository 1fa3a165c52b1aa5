//! Any bytes as `Authorization`, and as a file of users: nobody gets in, and what is wrong is said.
#![no_main]

use adyton_fuzz::authorizations;

libfuzzer_sys::fuzz_target!(|data: &[u8]| {
    authorizations::check(data);
    if let Ok(text) = str::from_utf8(data) {
        authorizations::check_files(text);
    }
});
