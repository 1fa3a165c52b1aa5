//! Generated streams, of which some are spoiled, fed in random pieces.

use adyton_http1::CHUNK_END;

use crate::{Outcome, decode, twin::assert_agrees};

/// The decoder and the reference agree on generated streams, fed whole and in pieces.
#[test]
fn generated_streams() {
    let mut random = Xorshift(0x9e37_79b9_7f4a_7c15);
    let mut counts = [0; 3];
    for _ in 0..60_000 {
        let mut stream = generate(&mut random);
        for _ in 0..random.below(3) {
            spoil(&mut stream, &mut random);
        }
        let label = stream.escape_ascii().to_string();
        let whole = decode(&[&stream]);
        assert_eq!(whole, decode(&cut(&stream, &mut random)), "{label}");
        assert_agrees(&label, &stream, &whole);
        counts[match whole {
            Outcome::Body(..) => 0,
            Outcome::Incomplete => 1,
            Outcome::Refused => 2,
        }] += 1;
    }

    assert!(counts.iter().all(|&count| count > 500), "too one-sided: {counts:?}");
}

fn generate(random: &mut Xorshift) -> Vec<u8> {
    let mut stream = Vec::new();
    for _ in 0..random.below(4) {
        let data: Vec<u8> = (0..=random.below(20)).map(|_| SPICE[random.below(SPICE.len())]).collect();
        let extension = [&b""[..], b";a", b";a=b", b";a=\"b;\\\"\""][random.below(4)];
        stream.extend(format!("{:x}", data.len()).as_bytes());
        stream.extend([extension, CHUNK_END, &data, CHUNK_END].concat());
    }
    stream.extend(b"0\r\n");
    for _ in 0..random.below(3) {
        stream.extend(
            [&b"A: b\r\n"[..], b"Sum:\r\n", b"Host: a\r\n", b"X-Long-Name: \xe9\r\n"][random.below(4)],
        );
    }
    stream.extend(CHUNK_END);
    stream
}

/// Replaces, inserts or removes a byte, or cuts off the end.
fn spoil(stream: &mut Vec<u8>, random: &mut Xorshift) {
    let at = random.below(stream.len().max(1));
    let byte = SPICE[random.below(SPICE.len())];
    match random.below(4) {
        0 if at < stream.len() => stream[at] = byte,
        1 if at < stream.len() => drop(stream.remove(at)),
        2 => stream.truncate(at),
        _ => stream.insert(at, byte),
    }
}

fn cut<'a>(mut stream: &'a [u8], random: &mut Xorshift) -> Vec<&'a [u8]> {
    let mut pieces = Vec::new();
    while !stream.is_empty() {
        let (piece, rest) = stream.split_at(1 + random.below(stream.len().min(9)));
        pieces.push(piece);
        stream = rest;
    }
    pieces
}

/// Bytes that have a meaning to the decoder.
const SPICE: &[u8] = b"\r\n01fA;=\"\\ \t:x\0\xe9";

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
