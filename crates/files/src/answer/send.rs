//! Turns an open file, or content in memory, into an answer: whole, in parts, or without content.

use std::hash::{BuildHasher, Hasher, RandomState};
use std::ops::Range;
use std::os::fd::OwnedFd;
use std::sync::Arc;
use std::time::{SystemTime, UNIX_EPOCH};

use adyton_http::{BadResponse, BodySize, Known, ResponseHead, reason_phrase};
use adyton_http1::{self as http1, Framed};
use adyton_sys::fs::Meta;

use crate::answer::conditions::{Outcome, Validators, etag, evaluate, shown_date};
use crate::answer::pages::error_page;
use crate::answer::ranges::{Requested, parse};
use crate::{Ask, FileAnswer, Part};

/// Fields of a 200 that a 304 leaves out, because they describe the content and not the file (RFC 9110 section 15.4.5).
const NOT_IN_304: [&[u8]; 4] = [b"content-encoding", b"content-language", b"content-type", b"last-modified"];

/// Where the bytes of a file are.
#[derive(Clone, Copy)]
pub(crate) enum Content<'a> {
    Memory(&'a [u8]),
    File(&'a Arc<OwnedFd>, u64),
}

/// One form of a file, with the header fields of its answers.
pub(crate) struct Representation<'a> {
    pub(crate) content: Content<'a>,
    pub(crate) content_type: &'a [u8],
    pub(crate) validators: Validators<'a>,
    /// Further fields, such as `Vary`, in the order in which they are sent.
    pub(crate) fields: &'a [(&'a [u8], &'a [u8])],
}

/// Answers a GET or HEAD request with an open regular file, conditions and ranges included.
///
/// `meta` is the result of `stat` for `file`; `extra_fields` are sent with 200, 206 and 304. An `ETag` or
/// `Last-Modified` among them replaces the file's own. The file is read from its beginning, whatever its position is. A
/// file too large for `out` is left to the caller as [`Part::File`].
///
/// # Errors
///
/// A field cannot be sent; the caller must then remove the bytes that were written to `out`.
pub fn answer_file(
    ask: &Ask<'_>,
    file: &Arc<OwnedFd>,
    meta: &Meta,
    content_type: &str,
    extra_fields: &[(&[u8], &[u8])],
    out: &mut Vec<u8>,
) -> Result<FileAnswer, BadResponse> {
    let given = |name: &[u8]| {
        let is_it = |field: &&(&[u8], &[u8])| field.0.eq_ignore_ascii_case(name);
        extra_fields.iter().find(is_it).map(|field| field.1)
    };
    let own_tag = etag(meta.bytes, meta.mtime_ns);
    let modified_s = match given(b"last-modified") {
        Some(date) => crate::answer::conditions::parse_date(date),
        None => modified_s(meta),
    };
    let etag = given(b"etag").unwrap_or(own_tag.as_bytes());
    // The server writes `ETag` and `Last-Modified` itself, from the validators.
    let rest = |(name, _): &&(&[u8], &[u8])| {
        !name.eq_ignore_ascii_case(b"etag") && !name.eq_ignore_ascii_case(b"last-modified")
    };
    let fields: Vec<_> = extra_fields.iter().filter(rest).copied().collect();
    let representation = Representation {
        content: Content::File(file, meta.bytes),
        content_type: content_type.as_bytes(),
        validators: Validators { etag, modified_s },
        fields: &fields,
    };
    answer(ask, &representation, out)
}

/// Answers a GET or HEAD request according to its conditions and ranges.
pub(crate) fn answer(
    ask: &Ask<'_>,
    form: &Representation<'_>,
    out: &mut Vec<u8>,
) -> Result<FileAnswer, BadResponse> {
    match evaluate(ask.request, form.validators, ask.identity.date) {
        Outcome::Whole => whole(ask, form, 200, out),
        Outcome::NotModified => not_modified(ask, form, out),
        Outcome::Failed => {
            let detail = "The file is not the version that the request is about.";
            Ok(error_page(out, ask.asked, &ask.identity, 412, detail, &[]))
        }
        Outcome::Ranges => {
            let value = ask.request.first(Known::Range).unwrap_or_default();
            match parse(value, form.content.bytes()) {
                Requested::Ignored => whole(ask, form, 200, out),
                Requested::Unsatisfiable => Ok(unsatisfiable(ask, form, out)),
                Requested::Ranges(ranges) => match &ranges[..] {
                    [range] => single(ask, form, range, out),
                    _ => multiple(ask, form, &ranges, out),
                },
            }
        }
    }
}

/// Answers with the whole content and the given status, without regard to conditions.
pub(crate) fn whole(
    ask: &Ask<'_>,
    form: &Representation<'_>,
    status: u16,
    out: &mut Vec<u8>,
) -> Result<FileAnswer, BadResponse> {
    let bytes = form.content.bytes();
    let mut head = begin(out, status)?;
    head.field(b"Content-Type", form.content_type)?;
    // Content without a validator is made anew for each request: a range of one version would not fit another version.
    if !form.validators.etag.is_empty() {
        head.raw(b"Accept-Ranges: bytes\r\n");
    }
    describe(&mut head, ask, form)?;
    let framed = finish(head, ask, bytes)?;
    let mut body = Body::new(ask, status, framed);
    body.push(form.content, 0..bytes, out);
    Ok(body.done())
}

impl Content<'_> {
    pub(crate) fn bytes(self) -> u64 {
        match self {
            Content::Memory(bytes) => bytes.len() as u64,
            Content::File(_, bytes) => bytes,
        }
    }
}

/// Seconds since 1970 for `Last-Modified`; `None` for a time before that.
pub(crate) fn modified_s(meta: &Meta) -> Option<u64> {
    u64::try_from(meta.mtime_ns).ok().map(|nanoseconds| nanoseconds / 1_000_000_000)
}

/// The wall clock, nanoseconds since 1970.
pub(crate) fn now_ns() -> i64 {
    let since = SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default();
    i64::try_from(since.as_nanos()).unwrap_or(i64::MAX)
}

fn begin(out: &mut Vec<u8>, status: u16) -> Result<ResponseHead<'_>, BadResponse> {
    http1::begin(out, status, reason_phrase(status).as_bytes())
}

/// Completes a head. HEAD gets exactly the fields of GET, including the length of an empty file: [`http1::finish`]
/// would leave out a length of 0, because it cannot know that it is the file's.
fn finish(mut head: ResponseHead<'_>, ask: &Ask<'_>, bytes: u64) -> Result<Framed, BadResponse> {
    if ask.asked.is_head && bytes == 0 {
        head.field(b"Content-Length", b"0")?;
    }
    Ok(http1::finish(head, ask.asked, &ask.identity, BodySize::Known(bytes)))
}

fn describe(
    head: &mut ResponseHead<'_>,
    ask: &Ask<'_>,
    form: &Representation<'_>,
) -> Result<(), BadResponse> {
    let shown = form.validators.modified_s.and_then(|modified_s| shown_date(modified_s, ask.identity.date));
    if let Some(date) = shown {
        head.field(b"Last-Modified", &date)?;
    }
    if !form.validators.etag.is_empty() {
        head.field(b"ETag", form.validators.etag)?;
    }
    form.fields.iter().try_for_each(|(name, value)| head.field(name, value))
}

fn not_modified(
    ask: &Ask<'_>,
    form: &Representation<'_>,
    out: &mut Vec<u8>,
) -> Result<FileAnswer, BadResponse> {
    let mut head = begin(out, 304)?;
    if !form.validators.etag.is_empty() {
        head.field(b"ETag", form.validators.etag)?;
    }
    for (name, value) in form.fields {
        if !NOT_IN_304.iter().any(|left_out| name.eq_ignore_ascii_case(left_out)) {
            head.field(name, value)?;
        }
    }
    let framed = http1::finish(head, ask.asked, &ask.identity, BodySize::Known(0));
    Ok(FileAnswer::Whole { status: 304, body_bytes: 0, keep_alive: framed.keep_alive })
}

fn unsatisfiable(ask: &Ask<'_>, form: &Representation<'_>, out: &mut Vec<u8>) -> FileAnswer {
    let content_range = format!("bytes */{}", form.content.bytes());
    let vary = form.fields.iter().filter(|(name, _)| name.eq_ignore_ascii_case(b"vary"));
    let mut fields: Vec<(&[u8], &[u8])> = vary.copied().collect();
    fields.push((b"Content-Range", content_range.as_bytes()));
    error_page(out, ask.asked, &ask.identity, 416, "The file has none of the requested bytes.", &fields)
}

fn single(
    ask: &Ask<'_>,
    form: &Representation<'_>,
    range: &Range<u64>,
    out: &mut Vec<u8>,
) -> Result<FileAnswer, BadResponse> {
    let mut head = begin(out, 206)?;
    head.field(b"Content-Type", form.content_type)?;
    head.field(b"Content-Range", content_range(range, form).as_bytes())?;
    describe(&mut head, ask, form)?;
    let framed = finish(head, ask, range.end - range.start)?;
    let mut body = Body::new(ask, 206, framed);
    body.push(form.content, range.clone(), out);
    Ok(body.done())
}

/// Answers with several ranges. RFC 9110 section 14.6: each part has a type and a range of its own, the whole answer
/// has neither.
fn multiple(
    ask: &Ask<'_>,
    form: &Representation<'_>,
    ranges: &[Range<u64>],
    out: &mut Vec<u8>,
) -> Result<FileAnswer, BadResponse> {
    let boundary = boundary();
    let mut heads = Vec::with_capacity(ranges.len());
    let end = format!("\r\n--{boundary}--\r\n");
    let mut bytes = end.len() as u64;
    for range in ranges {
        let mut head = format!("\r\n--{boundary}\r\nContent-Type: ").into_bytes();
        head.extend_from_slice(form.content_type);
        head.extend_from_slice(b"\r\nContent-Range: ");
        head.extend_from_slice(content_range(range, form).as_bytes());
        head.extend_from_slice(b"\r\n\r\n");
        bytes += head.len() as u64 + (range.end - range.start);
        heads.push(head);
    }
    let mut head = begin(out, 206)?;
    head.field(b"Content-Type", format!("multipart/byteranges; boundary={boundary}").as_bytes())?;
    describe(&mut head, ask, form)?;
    let framed = finish(head, ask, bytes)?;
    let mut body = Body::new(ask, 206, framed);
    for (head, range) in heads.iter().zip(ranges) {
        body.push(Content::Memory(head), 0..head.len() as u64, out);
        body.push(form.content, range.clone(), out);
    }
    body.push(Content::Memory(end.as_bytes()), 0..end.len() as u64, out);
    Ok(body.done())
}

fn content_range(range: &Range<u64>, form: &Representation<'_>) -> String {
    format!("bytes {}-{}/{}", range.start, range.end - 1, form.content.bytes())
}

/// A separator that nobody can have written into a file beforehand: 128 bits from the hasher whose keys the standard
/// library seeds from the system's randomness.
fn boundary() -> String {
    let keys = RandomState::new();
    let word = |n: u64| {
        let mut hasher = keys.build_hasher();
        hasher.write_u64(n);
        hasher.finish()
    };
    format!("{:016x}{:016x}", word(0), word(1))
}

/// A body under construction: in `out` as long as all of it is in memory, and in parts from the first file on.
struct Body {
    status: u16,
    keep_alive: bool,
    is_head: bool,
    bytes: u64,
    parts: Vec<Part>,
}

impl Body {
    fn new(ask: &Ask<'_>, status: u16, framed: Framed) -> Body {
        let is_head = ask.asked.is_head;
        Body { status, keep_alive: framed.keep_alive, is_head, bytes: 0, parts: Vec::new() }
    }

    /// Appends a range of `content`, unless the request was HEAD. The range must lie inside the content.
    fn push(&mut self, content: Content<'_>, range: Range<u64>, out: &mut Vec<u8>) {
        if self.is_head || range.is_empty() {
            return;
        }
        let (offset, bytes) = (range.start, range.end - range.start);
        self.bytes += bytes;
        match content {
            Content::File(file, _) => self.parts.push(Part::File { file: Arc::clone(file), offset, bytes }),
            Content::Memory(memory) => {
                // Offsets into memory fit `usize`.
                let index = |offset| usize::try_from(offset).unwrap_or(usize::MAX);
                let slice = memory.get(index(range.start)..index(range.end)).unwrap_or_default();
                if self.parts.is_empty() {
                    out.extend_from_slice(slice);
                } else {
                    self.parts.push(Part::Bytes(slice.to_vec()));
                }
            }
        }
    }

    fn done(self) -> FileAnswer {
        let Body { status, keep_alive, bytes: body_bytes, parts, .. } = self;
        if parts.is_empty() {
            FileAnswer::Whole { status, body_bytes, keep_alive }
        } else {
            FileAnswer::Parts { status, body_bytes, keep_alive, parts }
        }
    }
}
