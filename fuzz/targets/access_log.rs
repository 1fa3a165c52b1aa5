//! Any bytes as a request, and as a format: one line in the access log, and nothing of the client's outside its quotes.
#![no_main]

use adyton_fuzz::access_lines;

libfuzzer_sys::fuzz_target!(|data: &[u8]| {
    let Some((address, rest)) = data.split_first_chunk::<16>() else { return };
    access_lines::check(rest, None);
    access_lines::check(rest, Some((*address, 65535).into()));
    let mut halves = rest.splitn(2, |&byte| byte == 0xff);
    let (format, bytes) = (halves.next().unwrap_or_default(), halves.next().unwrap_or_default());
    if let Ok(format) = str::from_utf8(format) {
        access_lines::check_format(format, bytes);
    }
});
