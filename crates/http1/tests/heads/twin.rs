//! Compares with a reference: `httparse` accepts every head that we accept, and finds the same parts in it.

#![allow(clippy::unwrap_used, reason = "an error here is a failed test")]

use adyton_http::{Known, Method, Version};
use adyton_http1::{Head, Limits, Parsed};

/// Heads that are valid, to be spoiled.
const SEEDS: [&[u8]; 4] = [
    b"GET / HTTP/1.1\r\nHost: a\r\n\r\n",
    b"POST /a/b?c=d HTTP/1.1\r\nHost: [::1]:80\r\nContent-Length: 10\r\nExpect: 100-continue\r\n\r\n",
    b"PUT http://a/ HTTP/1.1\r\nhost:a\r\nTransfer-Encoding: chunked\r\nConnection: close, b\r\nX_Y: \t \xe9 \r\n\r\n",
    b"\r\nOPTIONS * HTTP/1.0\r\nAccept: text/html;q=0.5, */*\r\nCookie: a=b; c=d\r\nX-A:\r\n\r\n",
];

/// Bytes that have a meaning to a parser.
const SPICE: &[u8] = b"\r\n \t:/?#*@,;=\"[]%0\0\x7f\x80HTTP1.a-_";

#[test]
fn spoiled_heads() {
    let mut random = Xorshift(0x2545_f491_4f6c_dd1d);
    let mut complete = 0;
    for _ in 0..100_000 {
        let mut input = SEEDS[random.below(SEEDS.len())].to_vec();
        for _ in 0..random.below(4) {
            spoil(&mut input, &mut random);
        }
        let mut head = Head::new();
        if head.parse(&input, &Limits::default()) == Ok(Parsed::Complete) {
            compare(&head, &input);
            complete += 1;
        }
    }

    assert!(complete > 20_000, "too few heads survived to say much: {complete}");
}

/// Replaces, inserts, removes or doubles some bytes.
fn spoil(input: &mut Vec<u8>, random: &mut Xorshift) {
    let at = random.below(input.len());
    let byte = SPICE[random.below(SPICE.len())];
    match random.below(4) {
        0 => input[at] = byte,
        1 => input.insert(at, byte),
        2 => drop(input.remove(at)),
        _ => {
            let end = (at + random.below(20)).min(input.len());
            let piece = input[at..end].to_vec();
            input.splice(at..at, piece);
        }
    }
}

fn compare(head: &Head, input: &[u8]) {
    // The reference knows only the versions 1.0 and 1.1, so other versions are replaced.
    let mut known = input.to_vec();
    let version = head.target.end as usize + 1..head.target.end as usize + 9;
    let spoken = if head.version == Version::Http10 { b"HTTP/1.0" } else { b"HTTP/1.1" };
    known[version].copy_from_slice(spoken);
    let mut fields = [httparse::EMPTY_HEADER; 64];
    let mut twin = httparse::Request::new(&mut fields);
    let label = input.escape_ascii().to_string();

    assert_eq!(Ok(httparse::Status::Complete(head.bytes())), twin.parse(&known), "{label}");
    assert_eq!(twin.method.unwrap().as_bytes(), head.method_span.of(input), "{label}");
    assert_eq!(twin.path.unwrap().as_bytes(), head.target.of(input), "{label}");
    assert_eq!(twin.headers.len(), head.fields.as_slice().len(), "{label}");
    for (theirs, ours) in twin.headers.iter().zip(head.fields.as_slice()) {
        // The reference does not replace the value of the Host field by the target's host.
        let is_absolute = head.method != Method::Connect && !head.target.of(input).starts_with(b"/");
        if ours.known == Known::Host && is_absolute {
            assert_eq!(head.host, head.fields.first(Known::Host), "{label}");
            continue;
        }
        assert_eq!(
            (theirs.name.as_bytes(), theirs.value),
            (ours.name.of(input), ours.value.of(input)),
            "{label}"
        );
    }
}

/// Marsaglia's generator: enough for tests, and the same on every run.
struct Xorshift(u64);

impl Xorshift {
    fn below(&mut self, end: usize) -> usize {
        self.0 ^= self.0 << 13;
        self.0 ^= self.0 >> 7;
        self.0 ^= self.0 << 17;
        usize::try_from(self.0 >> 33).unwrap() % end
    }
}
