//! The body of an answer that is compressed on its way: the application's pieces go in, chunks come out.
//!
//! Each piece is compressed when it comes. The coder is flushed when the application is asked for more, or does
//! something else before its next piece. So each piece reaches the client, and pieces that come together are compressed
//! together. While a large piece is compressed, another thread drives the loop.

use adyton_compress::{self as compress, Coding, Encoder};
use adyton_http::Version;
use adyton_http1::{Asked, BodyFraming, CHUNK_END, LAST_CHUNK, write_chunk_head};

use super::{PENDING_BYTES_MAX, Reply};
use crate::answering::coder::{Coder, Wanted, Work};

/// From this size on, compressing a piece takes longer than handing the loop to another thread.
const LARGE_BYTES_MIN: usize = 4 << 10;

impl Reply<'_> {
    /// Whether the body is compressed, or kept.
    pub fn is_coded(&self) -> bool {
        self.is_chunked() && self.answer.coder.is_some()
    }

    /// Whether a body with this head, which lacks its empty line, would be compressed.
    pub fn would_code(&self, head: &[u8]) -> bool {
        let mut head = [head, b"\r\n"].concat();
        let wanted = self.answer.compress.as_ref();
        wanted.is_some_and(|wanted| recode(&mut head, 0, wanted, self.answer.asked, |_| true))
    }

    /// Has the body sent without being compressed.
    pub fn leave_uncoded(&mut self) {
        self.answer.compress = None;
    }

    /// Begins to compress the body, if its head, which was written from `mark` on, allows that; then the head says so.
    pub(super) fn begin_coding(&mut self, mark: usize) {
        let Some(wanted) = self.answer.compress.take() else { return };
        // An answer of the loop itself is too short to be compressed, and nobody would end its coding.
        if !self.is_theirs {
            return;
        }
        let asked = self.answer.asked;
        let framing = self.answer.framed.map(|framed| framed.framing);
        let promise = if let Some(BodyFraming::Length(bytes)) = framing { Some(bytes) } else { None };
        let (common, mut coder) = (self.common, None);
        recode(self.output().tail(), mark, &wanted, asked, |coding| {
            if asked.is_head {
                return true;
            }
            coder = Coder::new(&common.compress_room, coding, promise);
            coder.is_some()
        });
        if let Some(coder) = coder {
            self.answer.code(coder);
        }
    }

    /// Passes a piece, which was admitted already, through the coder.
    pub(super) fn code(&mut self, bytes: &[u8]) {
        if let Some(Coder { work: Work::Pass(framing), .. }) = self.answer.coder.as_deref() {
            return self.pass(bytes, *framing);
        }
        // The body counts by its compressed bytes, which `put_chunk` adds.
        self.answer.body_bytes -= bytes.len() as u64;
        if bytes.len() >= LARGE_BYTES_MIN {
            self.lend();
        }
        let Some(coder) = &mut self.answer.coder else { return };
        coder.unflushed += bytes.len();
        coder.turn_bytes += bytes.len() as u64;
        coder.apply(|encoder| encoder.write(bytes));
        self.put_coded();
    }

    /// Flushes the coder, so that everything that the application has given can be sent.
    #[cold]
    pub(crate) fn flush_coder(&mut self) {
        let Some(coder) = &mut self.answer.coder else { return };
        if std::mem::take(&mut coder.unflushed) > 0 {
            coder.apply(Encoder::flush);
            self.put_coded();
        }
    }

    /// Ends the body; a body that is shorter than promised is cut.
    #[cold]
    pub(super) fn end_coding(&mut self) {
        if self.answer.coder.as_ref().is_some_and(|coder| coder.unflushed >= LARGE_BYTES_MIN) {
            self.lend();
        }
        let Some(mut coder) = self.answer.coder.take() else { return };
        if self.answer.is_cut() {
            return;
        }
        match std::mem::replace(&mut coder.work, Work::Compress(None)) {
            Work::Compress(encoder) => {
                let Some(Ok(rest)) = encoder.map(Encoder::finish) else {
                    self.answer.aborted = true;
                    return;
                };
                coder.gather(&rest);
                self.put_chunk(&rest);
                self.output().tail().extend_from_slice(LAST_CHUNK);
            }
            Work::Pass(BodyFraming::Chunked) => self.output().tail().extend_from_slice(LAST_CHUNK),
            Work::Pass(_) => {}
        }
        if let Some(gather) = coder.gather
            && !self.answer.overrun
        {
            gather.keep();
        }
    }

    /// Whether other connections should have their turn.
    pub(super) fn has_coded_enough(&mut self) -> bool {
        let Some(coder) = &mut self.answer.coder else { return false };
        let has_enough = coder.turn_bytes >= PENDING_BYTES_MAX;
        if has_enough {
            coder.turn_bytes = 0;
        }
        has_enough
    }

    /// Writes the compressor's output as a chunk.
    fn put_coded(&mut self) {
        let Some(coder) = self.answer.coder.as_mut() else { return };
        let Some(made) = coder.take_output() else {
            self.answer.aborted = true;
            return;
        };
        coder.gather(&made);
        self.put_chunk(&made);
    }

    fn put_chunk(&mut self, bytes: &[u8]) {
        if bytes.is_empty() {
            return;
        }
        self.answer.body_bytes += bytes.len() as u64;
        let tail = self.output().tail();
        write_chunk_head(tail, bytes.len());
        tail.extend_from_slice(bytes);
        tail.extend_from_slice(CHUNK_END);
    }
}

/// Changes a head, which was written from `mark` on, for a compressed body. Returns whether the body is to be
/// compressed; `begin` is asked before, and may refuse.
fn recode(
    head: &mut Vec<u8>,
    mark: usize,
    wanted: &Wanted,
    asked: Asked,
    begin: impl FnOnce(Coding) -> bool,
) -> bool {
    // Without chunks only the end of the connection could end the body.
    let accepted = if asked.version == Version::Http10 { Coding::Identity } else { wanted.accepted };
    let framing = b"Transfer-Encoding: chunked\r\n";
    let answer = compress::Answer { accepted, to_head: asked.is_head, framing };
    compress::recode(head, mark, &wanted.rules, &answer, begin) != Coding::Identity
}
