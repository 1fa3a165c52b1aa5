//! One entry of the error log, as text or as a JSON object.

use crate::escape;
use crate::level::Level;
use crate::messages::{self, Message};
use crate::request_id::RequestId;
use crate::settings::is_json;
use crate::stamp::Stamp;

/// A stream of the application's.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Stream {
    /// `sys.stdout`.
    Output,
    /// `sys.stderr` and `wsgi.errors`.
    Error,
}

impl Stream {
    pub(crate) fn name(self) -> &'static str {
        match self {
            Self::Output => "stdout",
            Self::Error => "stderr",
        }
    }
}

/// The origin of an entry's text.
pub(crate) enum Source<'s> {
    /// The server itself.
    Server(&'s Message),
    /// A logger of the application's, with its name.
    Logger(Level, &'s str),
    /// A stream that the application has written to.
    Stream(Stream),
}

impl Source<'_> {
    pub(crate) fn level(&self) -> Level {
        match self {
            Self::Server(message) => message.level,
            Self::Logger(level, _) => *level,
            Self::Stream(_) => Level::Info,
        }
    }

    /// Returns the code of a server's message, such as `ADY101`.
    pub(crate) fn code(&self) -> Option<String> {
        if let Self::Server(message) = self { Some(message.code()) } else { None }
    }
}

/// One entry.
pub(crate) struct Entry<'e> {
    pub(crate) source: &'e Source<'e>,
    /// The group of this process; `None` in a process of the server itself.
    pub(crate) group: Option<&'static str>,
    /// The worker's number, from 1 on; `None` in a process that is no worker.
    pub(crate) worker: Option<usize>,
    /// The request that this thread serves.
    pub(crate) request: Option<&'e RequestId>,
    /// The time when the entry was made, in milliseconds.
    pub(crate) unix_ms: u64,
}

impl Entry<'_> {
    /// Returns the entry as text or JSON, whichever is set, with a line feed behind it.
    pub(crate) fn line(&self, text: &str) -> Vec<u8> {
        let mut line = if is_json() { self.json(text) } else { self.text(text) };
        line.push(b'\n');
        line
    }

    /// Returns the entry that says how many entries were lost.
    pub(crate) fn of_loss(unix_ms: u64) -> Self {
        static SOURCE: Source<'static> = Source::Server(&messages::ENTRIES_LOST);

        Self { source: &SOURCE, group: None, worker: None, request: None, unix_ms }
    }

    /// Returns `[time] worker 2 request ID ADY201 error: text`, without a line feed behind it.
    pub(crate) fn text(&self, text: &str) -> Vec<u8> {
        let mut out = Vec::with_capacity(text.len() + 128);
        out.push(b'[');
        out.extend_from_slice(Stamp::at(self.unix_ms / 1000).http().as_bytes());
        out.extend_from_slice(b"] ");
        self.put_text(&mut out, text);
        out
    }

    /// Returns the entry as [`Entry::text`] does, without the time.
    pub(crate) fn text_without_time(&self, text: &str) -> Vec<u8> {
        let mut out = Vec::with_capacity(text.len() + 96);
        self.put_text(&mut out, text);
        out
    }

    fn put_text(&self, out: &mut Vec<u8>, text: &str) {
        if let Some(group) = self.group {
            out.extend_from_slice(format!("group {group} ").as_bytes());
        }
        if let Some(number) = self.worker {
            out.extend_from_slice(format!("worker {number} ").as_bytes());
        }
        if let Some(request) = self.request {
            out.extend_from_slice(format!("request {request} ").as_bytes());
        }
        let head = match self.source {
            Source::Server(message) => format!("{} {}: ", message.code(), message.level.name()),
            Source::Logger(level, name) => format!("{}: {name}: ", level.name()),
            Source::Stream(stream) => format!("{}: ", stream.name()),
        };
        out.extend_from_slice(head.as_bytes());
        put_plain(out, text);
    }

    /// Returns one object, without a line feed; members without a value are left out.
    pub(crate) fn json(&self, text: &str) -> Vec<u8> {
        let mut out = Vec::with_capacity(text.len() + 256);
        let stamp = Stamp::at(self.unix_ms / 1000);
        let second = stamp.rfc3339();
        out.extend_from_slice(b"{\"time\":\"");
        out.extend_from_slice(second.strip_suffix(b"Z").unwrap_or(second));
        out.extend_from_slice(format!(".{:03}Z\"", self.unix_ms % 1000).as_bytes());
        let mut member = |name: &str, value: &[u8]| {
            out.extend_from_slice(format!(",\"{name}\":").as_bytes());
            escape::write_json(&mut out, value);
        };
        member("level", self.source.level().name().as_bytes());
        match self.source {
            Source::Server(message) => member("code", message.code().as_bytes()),
            Source::Logger(_, name) => member("logger", name.as_bytes()),
            Source::Stream(stream) => member("stream", stream.name().as_bytes()),
        }
        if let Some(request) = self.request {
            member("request_id", request.to_string().as_bytes());
            if let Some(trace) = request.trace() {
                member("trace_id", trace.as_bytes());
            }
        }
        member("message", text.as_bytes());
        if let Some(group) = self.group {
            member("group", group.as_bytes());
        }
        if let Some(number) = self.worker {
            out.extend_from_slice(format!(",\"worker\":{number}").as_bytes());
        }
        out.extend_from_slice(format!(",\"pid\":{}}}", std::process::id()).as_bytes());
        out
    }
}

/// The words behind the number of lost entries.
pub(crate) const LOST_WORDS: &str = "entries of this log could not be written and are lost";

/// Appends text that may come from a client: none of its lines looks like the beginning of an entry, and
/// nothing moves a terminal's cursor.
fn put_plain(out: &mut Vec<u8>, text: &str) {
    for (at, line) in text.split('\n').enumerate() {
        if at > 0 {
            out.push(b'\n');
        }
        if at > 0 && line.starts_with('[') {
            out.push(b' ');
        }
        for part in line.split_inclusive(|letter: char| letter.is_control() && letter != '\t') {
            match part.char_indices().next_back() {
                Some((end, last)) if last.is_control() && last != '\t' => {
                    out.extend_from_slice(&part.as_bytes()[..end]);
                    out.extend_from_slice(last.escape_default().to_string().as_bytes());
                }
                _ => out.extend_from_slice(part.as_bytes()),
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::request_id::RequestIds;

    /// Each part of an entry is written in its place, and a missing part leaves no gap.
    #[test]
    fn both_forms() {
        let request = RequestIds::new(7)
            .next(Some(b"abc-1"), Some(b"00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01"));
        let own = Source::Server(&messages::APPLICATION_FAILED);
        let logger = Source::Logger(Level::Warning, "shop.cart");
        let stream = Source::Stream(Stream::Output);
        for (source, worker, request, text, json) in [
            (
                &own,
                Some(2),
                Some(&request),
                "[Fri, 20 Nov 2026 10:55:52 GMT] worker 2 request abc-1 ADY201 error: a \"b\"\nc",
                r#"{"time":"2026-11-20T10:55:52.007Z","level":"error","code":"ADY201","request_id":"abc-1","trace_id":"0af7651916cd43dd8448eb211c80319c","message":"a \"b\"\u000ac","worker":2,"pid":"#,
            ),
            (
                &logger,
                None,
                None,
                "[Fri, 20 Nov 2026 10:55:52 GMT] warning: shop.cart: a \"b\"\nc",
                r#"{"time":"2026-11-20T10:55:52.007Z","level":"warning","logger":"shop.cart","message":"a \"b\"\u000ac","pid":"#,
            ),
            (
                &stream,
                Some(1),
                None,
                "[Fri, 20 Nov 2026 10:55:52 GMT] worker 1 stdout: a \"b\"\nc",
                r#"{"time":"2026-11-20T10:55:52.007Z","level":"info","stream":"stdout","message":"a \"b\"\u000ac","worker":1,"pid":"#,
            ),
        ] {
            let entry = Entry { source, group: None, worker, request, unix_ms: 1_795_172_152_007 };
            let said = "a \"b\"\nc";

            let written = entry.json(said);

            assert_eq!(text, String::from_utf8_lossy(&entry.text(said)));
            assert!(written.starts_with(json.as_bytes()), "{}", String::from_utf8_lossy(&written));
            assert!(text.ends_with(&*String::from_utf8_lossy(&entry.text_without_time(said))));
        }
    }

    /// A client whose words are logged cannot forge an entry with them.
    #[test]
    fn no_forged_entries() {
        for (text, expected) in [
            (
                "a\n[Fri, 20 Nov 2026 10:55:52 GMT] ADY312 error: b",
                "a\n [Fri, 20 Nov 2026 10:55:52 GMT] ADY312 error: b",
            ),
            ("a\r[x\r", "a\\r[x\\r"),
            ("\u{1b}[2J\ta\u{9b}", "\\u{1b}[2J\ta\\u{9b}"),
            ("[a", "[a"),
            ("", ""),
        ] {
            let mut out = Vec::new();
            put_plain(&mut out, text);

            assert_eq!(expected, String::from_utf8_lossy(&out));
        }
    }
}
