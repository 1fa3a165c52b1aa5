//! Coded content can be decoded when it is complete, and also up to each flush.

#![allow(clippy::unwrap_used, reason = "a test fails by panicking")]

use std::io::{self, Read};

use adyton_compress::{CODINGS, Coding, Effort, Encoder, choose_coding, memory_bytes, whole};

/// Returns everything that can be decoded of `bytes`, which may end too early.
fn decoded(coding: Coding, bytes: &[u8]) -> Vec<u8> {
    let mut reader: Box<dyn Read> = match coding {
        Coding::Br => Box::new(brotli::Decompressor::new(bytes, 4096)),
        Coding::Zstd => Box::new(zstd::stream::read::Decoder::new(bytes).unwrap()),
        Coding::Gzip => Box::new(flate2::read::GzDecoder::new(bytes)),
        Coding::Identity => Box::new(bytes),
    };
    let (mut all, mut one) = (Vec::new(), [0]);
    while let Ok(1) = reader.read(&mut one) {
        all.push(one[0]);
    }
    all
}

fn text(bytes: usize) -> Vec<u8> {
    (0..)
        .flat_map(|n: u32| format!("{n} lines of text; {}\n", n.wrapping_mul(2_654_435_761)).into_bytes())
        .take(bytes)
        .collect()
}

#[test]
fn pieces_arrive_when_they_are_flushed() -> io::Result<()> {
    for coding in CODINGS {
        for known in [false, true] {
            let pieces = [text(10), text(70_000), text(1), text(3000)];
            let length = pieces.iter().map(Vec::len).sum::<usize>() as u64;
            let mut encoder = Encoder::new(coding, Effort::Once, known.then_some(length))?.unwrap();
            let (mut sent, mut expected) = (Vec::new(), Vec::new());
            for piece in &pieces {
                encoder.write(piece)?;
                encoder.flush()?;
                sent.append(&mut encoder.take_output());
                expected.extend_from_slice(piece);

                assert!(expected == decoded(coding, &sent), "{coding:?}: {} bytes", expected.len());
            }
            sent.extend(encoder.finish()?);

            assert!(expected == decoded(coding, &sent), "{coding:?}");
            assert!(sent.len() * 2 < expected.len(), "{coding:?}: {} bytes", sent.len());
        }
    }
    Ok(())
}

#[test]
fn nothing_and_what_is_kept() -> io::Result<()> {
    for coding in CODINGS {
        for length in [0, 1, 6000, 300_000] {
            let content = text(length);
            let mut encoder = Encoder::new(coding, Effort::Once, None)?.unwrap();
            encoder.write(&content)?;
            assert!(content == decoded(coding, &encoder.finish()?), "{coding:?}: {length} bytes");

            match whole(coding, &content) {
                Some(coded) => assert!(content == decoded(coding, &coded), "{coding:?}: {length} bytes"),
                None => assert!(length < 2, "{coding:?}: {length} bytes gain"),
            }
        }
        assert!(memory_bytes(coding, Some(7000)) <= memory_bytes(coding, None));
    }
    assert!(Encoder::new(Coding::Identity, Effort::Once, None)?.is_none());
    Ok(())
}

#[test]
fn the_coding_that_a_client_likes_best() {
    use Coding::{Br, Gzip, Identity, Zstd};
    let all = &CODINGS[..];
    let cases: [(&[&str], &[Coding], Option<Coding>); 31] = [
        (&[], all, Some(Identity)),
        (&[""], all, Some(Identity)),
        (&["gzip"], all, Some(Gzip)),
        (&["GZip"], all, Some(Gzip)),
        (&["x-gzip"], all, Some(Gzip)),
        (&["gzip, deflate, br, zstd"], all, Some(Br)),
        (&["gzip, deflate, br, zstd"], &[Zstd, Gzip], Some(Zstd)),
        (&["gzip, deflate, br, zstd"], &[], Some(Identity)),
        (&["gzip", "br"], all, Some(Br)),
        (&["br;q=0.5, gzip;q=0.8"], all, Some(Gzip)),
        (&["br;q=0.001,gzip;q=0"], &[Br, Gzip], Some(Br)),
        (&["br ; Q=0.5 , gzip\t;q=0.8"], all, Some(Gzip)),
        (&["br;q=0, gzip;q=0"], all, Some(Identity)),
        (&["br;q=0, *"], &[Br, Gzip], Some(Gzip)),
        (&["*"], all, Some(Br)),
        (&["*;q=0.5, gzip"], all, Some(Gzip)),
        (&["deflate, compress"], all, Some(Identity)),
        // `identity`, the file itself, is preferred, is liked less, or is refused.
        (&["gzip;q=0.5, identity"], all, Some(Identity)),
        (&["gzip;q=0.5, identity;q=0.5"], all, Some(Gzip)),
        (&["gzip, identity;q=0.5"], all, Some(Gzip)),
        (&["identity"], all, Some(Identity)),
        (&["identity;q=0"], all, None),
        (&["identity;q=0, br"], all, Some(Br)),
        (&["identity;q=0, br"], &[Gzip], None),
        (&["*;q=0"], all, None),
        (&["*;q=0, gzip"], all, Some(Gzip)),
        (&["*;q=0, identity"], all, Some(Identity)),
        // Malformed weights count as 0.
        (&["br;q=1.5, gzip"], all, Some(Gzip)),
        (&["br;q=, gzip;q=0.1"], all, Some(Gzip)),
        (&["br;q=0.1234, gzip;q=0.1"], all, Some(Gzip)),
        // The order of the offered codings decides if the client likes several equally.
        (&["gzip, br, zstd"], &[Gzip, Br], Some(Gzip)),
    ];
    for (lines, there, expected) in cases {
        let bytes: Vec<&[u8]> = lines.iter().map(|line| line.as_bytes()).collect();

        assert_eq!(expected, choose_coding(&bytes, there.iter().copied()), "{lines:?} {there:?}");
    }
}
