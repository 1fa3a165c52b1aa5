//! Compressors, which take content in pieces and give coded content in pieces.
//!
//! # Levels
//!
//! The levels were chosen by measurement on one core, with HTML documentation pages of 7 KiB, 64 KiB and 700 KiB. The
//! columns show the time in µs, and the size in percent of the content:
//!
//! | level | 7 KiB | 64 KiB | 700 KiB | memory |
//! | --- | --- | --- | --- | --- |
//! | gzip 1 | 24 µs, 36.7 % | 160, 13.9 | 2260, 14.9 | 0.4 MiB |
//! | **gzip 4** | 56 µs, 27.4 % | 373, 9.4 | 9300, 9.7 | 0.4 MiB |
//! | gzip 6 | 93 µs, 27.1 % | 598, 8.9 | 15800, 9.2 | 0.4 MiB |
//! | zstd 1 | 28 µs, 29.8 % | 65, 10.4 | 1370, 10.4 | 1.1 MiB |
//! | **zstd 3** | 42 µs, 28.4 % | 144, 9.9 | 2150, 9.8 | 1.8 MiB |
//! | zstd 5 | 101 µs, 28.1 % | 418, 9.1 | 13100, 8.6 | 3.6 MiB |
//! | br 3 | 109 µs, 28.0 % | 351, 9.9 | 10600, 10.7 | 1.1 to 1.5 MiB |
//! | br 4 | 179 µs, 26.2 % | 510, 9.2 | 20200, 9.5 | 2 to 3 MiB |
//! | **br 5** | 162 µs, 24.7 % | 841, 8.3 | 16100, 10.4 | 1.2 to 3.5 MiB |
//! | **br 5**, window 2^22 | 161 µs, 24.7 % | 1676, 8.3 | 30900, 7.8 | 1.2 to 12 MiB |
//!
//! zstd is by far the fastest, and is used for content that is coded anew each time; br gives the smallest result, and
//! is used for content that is kept. gzip 4 saves nearly as much as gzip 6, in six tenths of the time. Below a window
//! of 2^17, br 5 allocates tables of 32 MiB, so no smaller window is used.

use std::io::{self, Write};

use brotli::CompressorWriter;
use brotli::enc::BrotliEncoderParams;
use flate2::Compression;
use flate2::write::GzEncoder;
use zstd::zstd_safe::CParameter;

use crate::Coding;

/// How much time may be spent on coding content.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Effort {
    /// Content is coded for one answer.
    Once,
    /// Coded content is kept for many answers.
    Kept,
}

const GZIP_LEVEL_ONCE: u32 = 4;
const GZIP_LEVEL_KEPT: u32 = 6;
const ZSTD_LEVEL_ONCE: i32 = 3;
const ZSTD_LEVEL_KEPT: i32 = 5;
const BR_QUALITY: i32 = 5;

/// Windows, as powers of two: how far back a compressor looks. A larger window takes more memory, also on the client.
const WINDOW_LOG_ONCE: u8 = 18;
const BR_WINDOW_LOG_MIN: u8 = 17;
const BR_WINDOW_LOG_KEPT: u8 = 22;

/// Bytes that brotli gathers before it compresses them.
const BR_BUFFER_BYTES: usize = 4096;

/// Content of at most this many bytes is small, and gets small tables.
const SMALL_BYTES_MAX: u64 = 16 << 10;

/// Returns the most memory, in bytes, that a compressor for one answer takes; `content` is the length of the content,
/// if known.
///
/// The figures are measured and rounded up; they do not include the output.
pub fn memory_bytes(coding: Coding, content: Option<u64>) -> u64 {
    let is_small = content.is_some_and(|bytes| bytes <= SMALL_BYTES_MAX);
    match (coding, is_small) {
        (Coding::Identity, _) => 0,
        (Coding::Gzip, _) => 448 << 10,
        (Coding::Zstd, true) => 512 << 10,
        (Coding::Zstd, false) => 2 << 20,
        (Coding::Br, true) => 1280 << 10,
        (Coding::Br, false) => 4 << 20,
    }
}

/// A compressor for the content of one answer. Everything that is written appears sooner or later in
/// [`Encoder::take_output`]: after [`Encoder::flush`] the client can decode all of it, and after [`Encoder::finish`]
/// the content is complete.
pub struct Encoder(Kind);

enum Kind {
    Br(Box<CompressorWriter<Vec<u8>>>),
    Zstd(zstd::stream::write::Encoder<'static, Vec<u8>>),
    Gzip(Box<GzEncoder<Vec<u8>>>),
}

impl Encoder {
    /// Makes a compressor. If `content` gives the number of bytes, exactly that many must be written. Returns `None`
    /// for [`Coding::Identity`].
    ///
    /// # Errors
    ///
    /// Memory runs out.
    pub fn new(coding: Coding, effort: Effort, content: Option<u64>) -> io::Result<Option<Encoder>> {
        Ok(Some(Encoder(match coding {
            Coding::Identity => return Ok(None),
            Coding::Br => Kind::Br(Box::new(br(effort, content))),
            Coding::Zstd => Kind::Zstd(zstd(effort, content)?),
            Coding::Gzip => {
                let level = if effort == Effort::Kept { GZIP_LEVEL_KEPT } else { GZIP_LEVEL_ONCE };
                Kind::Gzip(Box::new(GzEncoder::new(Vec::new(), Compression::new(level))))
            }
        })))
    }

    /// Takes a piece of the content.
    ///
    /// # Errors
    ///
    /// Memory runs out, or the content is longer than promised.
    pub fn write(&mut self, bytes: &[u8]) -> io::Result<()> {
        match &mut self.0 {
            Kind::Br(encoder) => encoder.write_all(bytes),
            Kind::Zstd(encoder) => encoder.write_all(bytes),
            Kind::Gzip(encoder) => encoder.write_all(bytes),
        }
    }

    /// Puts everything that was written so far into the output, so that a client can decode it without later bytes.
    ///
    /// # Errors
    ///
    /// Memory runs out.
    pub fn flush(&mut self) -> io::Result<()> {
        match &mut self.0 {
            Kind::Br(encoder) => encoder.flush(),
            Kind::Zstd(encoder) => encoder.flush(),
            Kind::Gzip(encoder) => encoder.flush(),
        }
    }

    /// Returns the output so far, and removes it.
    pub fn take_output(&mut self) -> Vec<u8> {
        std::mem::take(match &mut self.0 {
            Kind::Br(encoder) => encoder.get_mut(),
            Kind::Zstd(encoder) => encoder.get_mut(),
            Kind::Gzip(encoder) => encoder.get_mut(),
        })
    }

    /// Ends the content, and returns the output that was not taken yet.
    ///
    /// # Errors
    ///
    /// Memory runs out, or the content is shorter than promised.
    pub fn finish(self) -> io::Result<Vec<u8>> {
        match self.0 {
            Kind::Br(encoder) => Ok(encoder.into_inner()),
            Kind::Zstd(encoder) => encoder.finish(),
            Kind::Gzip(encoder) => encoder.finish(),
        }
    }
}

/// Codes content that will be kept, in one call. Returns `None` if the result is not smaller, or if memory runs out.
pub fn whole(coding: Coding, content: &[u8]) -> Option<Vec<u8>> {
    let mut encoder = Encoder::new(coding, Effort::Kept, Some(content.len() as u64)).ok()??;
    encoder.write(content).ok()?;
    let mut coded = encoder.finish().ok()?;
    coded.shrink_to_fit();
    (coded.len() < content.len()).then_some(coded)
}

fn br(effort: Effort, content: Option<u64>) -> CompressorWriter<Vec<u8>> {
    let most = if effort == Effort::Kept { BR_WINDOW_LOG_KEPT } else { WINDOW_LOG_ONCE };
    let window_log = content.map_or(most, |bytes| log(bytes).clamp(BR_WINDOW_LOG_MIN, most));
    let parameters = BrotliEncoderParams {
        quality: BR_QUALITY,
        lgwin: i32::from(window_log),
        size_hint: content.map_or(0, |bytes| usize::try_from(bytes).unwrap_or(usize::MAX)),
        ..BrotliEncoderParams::default()
    };
    CompressorWriter::with_params(Vec::new(), BR_BUFFER_BYTES, &parameters)
}

fn zstd(effort: Effort, content: Option<u64>) -> io::Result<zstd::stream::write::Encoder<'static, Vec<u8>>> {
    let level = if effort == Effort::Kept { ZSTD_LEVEL_KEPT } else { ZSTD_LEVEL_ONCE };
    let mut encoder = zstd::stream::write::Encoder::new(Vec::new(), level)?;
    if effort == Effort::Once {
        encoder.set_parameter(CParameter::WindowLog(u32::from(WINDOW_LOG_ONCE)))?;
    }
    encoder.set_pledged_src_size(content)?;
    Ok(encoder)
}

/// Returns the exponent of the smallest power of two that is at least `bytes`.
fn log(bytes: u64) -> u8 {
    let exponent = u64::BITS - bytes.saturating_sub(1).leading_zeros();
    u8::try_from(exponent).unwrap_or(u8::MAX)
}
