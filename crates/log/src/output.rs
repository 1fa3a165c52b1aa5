//! The application's output to its standard streams: collected into whole lines, separately for each thread.

use std::cell::RefCell;

use crate::entry::{Source, Stream};
use crate::error_log::put;

/// A line that does not end becomes an entry at this length.
const LINE_BYTES_MAX: usize = 64 << 10;

/// Unfinished lines of both streams.
struct Begun([String; 2]);

impl Drop for Begun {
    fn drop(&mut self) {
        self.end();
    }
}

impl Begun {
    fn put(&mut self, stream: Stream, text: &str) {
        let begun = &mut self.0[stream as usize];
        let (whole, rest) = match text.rfind('\n') {
            Some(at) => (&text[..at], &text[at + 1..]),
            None => ("", text),
        };
        if whole.len() < text.len() - rest.len() {
            // The text of one call stays together.
            begun.push_str(whole);
            put(&Source::Stream(stream), begun);
            begun.clear();
        }
        begun.push_str(rest);
        if begun.len() > LINE_BYTES_MAX {
            put(&Source::Stream(stream), begun);
            begun.clear();
            begun.shrink_to(LINE_BYTES_MAX);
        }
    }

    /// Writes unfinished lines, because nothing more will come.
    #[inline]
    fn end(&mut self) {
        // Each request calls this, mostly without an unfinished line.
        if self.0.iter().any(|begun| !begun.is_empty()) {
            self.put_lines();
        }
    }

    fn put_lines(&mut self) {
        for stream in [Stream::Output, Stream::Error] {
            let begun = std::mem::take(&mut self.0[stream as usize]);
            if !begun.is_empty() {
                put(&Source::Stream(stream), &begun);
            }
        }
    }
}

thread_local! {
    static BEGUN: RefCell<Begun> = const { RefCell::new(Begun([String::new(), String::new()])) };
}

/// Writes text of the application's, as one entry for all whole lines; an unfinished line waits for its end.
pub fn put_out(stream: Stream, text: &str) {
    // A thread that is ending has no place for unfinished lines: its text is written as it comes.
    if BEGUN.try_with(|begun| begun.borrow_mut().put(stream, text)).is_err() && !text.is_empty() {
        put(&Source::Stream(stream), text.trim_end_matches('\n'));
    }
}

/// Writes the unfinished lines of this thread, because no more text will come on this thread, or none soon.
pub fn end_lines() {
    // A thread that is ending has no unfinished lines.
    let _ = BEGUN.try_with(|begun| begun.borrow_mut().end());
}
