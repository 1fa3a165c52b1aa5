//! Any bytes as the head of an answer: what its beginnings say, the whole says, too.
#![no_main]

libfuzzer_sys::fuzz_target!(|data: &[u8]| {
    // Most bytes are no status line, and of those little can be said.
    for begin in [&b""[..], b"HTTP/1.1 200 OK\r\n"] {
        let head = [begin, data].concat();
        [false, true].into_iter().for_each(|to_head| adyton_fuzz::received::check(&head, to_head));
    }
});
