//! One entry of the error log, as text or as a JSON object.

use crate::escape;
use crate::messages::{self, Message};
use crate::output::Stream;
use crate::request::RequestId;
use crate::stamp::Stamp;
use crate::{Level, is_json};

/// Whose words an entry has.
pub(crate) enum Source<'s> {
    /// The server's own.
    Server(&'s Message),
    /// Of a logger of the application's, with its name.
    Logger(Level, &'s str),
    /// What the application has written to a stream.
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

    /// `ADY101`, of the server's messages.
    pub(crate) fn code(&self) -> Option<String> {
        if let Self::Server(message) = self { Some(message.code()) } else { None }
    }
}

/// One entry.
pub(crate) struct Entry<'e> {
    pub(crate) source: &'e Source<'e>,
    /// From 1 on; `None` in a process that is no worker.
    pub(crate) worker: Option<usize>,
    /// What this thread serves.
    pub(crate) request: Option<&'e RequestId>,
    pub(crate) text: &'e str,
    /// When it was made, in milliseconds.
    pub(crate) unix_ms: u64,
}

impl Entry<'_> {
    /// `[time] worker 2 request ID ADY201 error: text`, without its end.
    pub(crate) fn text(&self) -> Vec<u8> {
        let mut out = Vec::with_capacity(self.text.len() + 128);
        out.push(b'[');
        out.extend_from_slice(Stamp::at(self.unix_ms / 1000).http().as_bytes());
        out.extend_from_slice(b"] ");
        self.put_text(&mut out);
        out
    }

    /// The same without the time.
    pub(crate) fn text_without_time(&self) -> Vec<u8> {
        let mut out = Vec::with_capacity(self.text.len() + 96);
        self.put_text(&mut out);
        out
    }

    fn put_text(&self, out: &mut Vec<u8>) {
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
        out.extend_from_slice(self.text.as_bytes());
    }

    /// One object, without a line feed: members that have nothing to say are left out.
    pub(crate) fn json(&self) -> Vec<u8> {
        let mut out = Vec::with_capacity(self.text.len() + 256);
        let stamp = Stamp::at(self.unix_ms / 1000);
        let second = stamp.rfc3339().trim_ascii_end();
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
        member("message", self.text.as_bytes());
        if let Some(number) = self.worker {
            out.extend_from_slice(format!(",\"worker\":{number}").as_bytes());
        }
        out.extend_from_slice(format!(",\"pid\":{}}}", std::process::id()).as_bytes());
        out
    }
}

/// What is said first when entries were lost.
pub(crate) fn after_loss(lost: u64, unix_ms: u64) -> Vec<u8> {
    let source = Source::Server(&messages::ENTRIES_LOST);
    let text = format!("{lost} entries of this log could not be written and are lost");
    let entry = Entry { source: &source, worker: None, request: None, text: &text, unix_ms };
    let mut line = if is_json() { entry.json() } else { entry.text() };
    line.push(b'\n');
    line
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::request::RequestIds;

    /// What is there is written, in its place; what is not leaves no gap.
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
            let entry = Entry { source, worker, request, text: "a \"b\"\nc", unix_ms: 1_795_172_152_007 };

            assert_eq!(text, String::from_utf8_lossy(&entry.text()));
            assert!(
                String::from_utf8_lossy(&entry.json()).starts_with(json),
                "{entry:?}",
                entry = String::from_utf8_lossy(&entry.json())
            );
            assert!(text.ends_with(&*String::from_utf8_lossy(&entry.text_without_time())));
        }
    }
}
