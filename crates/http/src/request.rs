//! A request in a form that does not depend on the protocol by which it came.

use crate::{Field, Fields, Known, Method, Span, Version};

/// The head of a request, as offsets into its bytes; a codec has checked it.
///
/// The head holds nothing about the connection: the framing of the body and keep-alive are the codec's business.
#[derive(Clone, Debug)]
pub struct RequestHead {
    /// The method.
    pub method: Method,
    /// The place of the method's name.
    pub method_span: Span,
    /// The request-target as it was sent.
    pub target: Span,
    /// The path in the target, still percent-encoded, without the query. `*` for `OPTIONS *`. Empty for an
    /// absolute-form without a path, where it means `/`, and for CONNECT.
    pub path: Span,
    /// The query, after the first `?` of the target; empty if there is none.
    pub query: Span,
    /// The version that the client speaks.
    pub version: Version,
    /// The host, and perhaps the port, that the request is for; `None` only for HTTP/1.0.
    pub host: Option<Span>,
    /// The fields.
    pub fields: Fields,
}

impl RequestHead {
    /// Returns an empty head for a codec to fill; until then its content is harmless but has no meaning.
    pub const fn new() -> RequestHead {
        let nothing = Span { start: 0, end: 0 };
        RequestHead {
            method: Method::Other,
            method_span: nothing,
            target: nothing,
            path: nothing,
            query: nothing,
            version: Version::Http11,
            host: None,
            fields: Fields::new(),
        }
    }

    /// Returns the request whose head this is; `bytes` are the head's bytes.
    #[inline]
    pub fn of<'r>(&'r self, bytes: &'r [u8]) -> Request<'r> {
        Request { head: self, bytes }
    }
}

impl Default for RequestHead {
    fn default() -> RequestHead {
        RequestHead::new()
    }
}

/// One request, with borrowed bytes; copying it costs as little as copying two references.
#[derive(Clone, Copy, Debug)]
pub struct Request<'r> {
    head: &'r RequestHead,
    bytes: &'r [u8],
}

impl<'r> Request<'r> {
    /// Offsets of all parts in [`Request::bytes`].
    #[inline]
    pub fn head(self) -> &'r RequestHead {
        self.head
    }

    /// The bytes of the head as they were received.
    #[inline]
    pub fn bytes(self) -> &'r [u8] {
        self.bytes
    }

    /// The method.
    #[inline]
    pub fn method(self) -> Method {
        self.head.method
    }

    /// The method as it was sent.
    #[inline]
    pub fn method_name(self) -> &'r [u8] {
        self.head.method_span.of(self.bytes)
    }

    /// The request-target as it was sent.
    #[inline]
    pub fn target(self) -> &'r [u8] {
        self.head.target.of(self.bytes)
    }

    /// The path in the target; see [`RequestHead::path`].
    #[inline]
    pub fn path(self) -> &'r [u8] {
        self.head.path.of(self.bytes)
    }

    /// The query, after the first `?` of the target; empty if there is none.
    #[inline]
    pub fn query(self) -> &'r [u8] {
        self.head.query.of(self.bytes)
    }

    /// The version that the client speaks.
    #[inline]
    pub fn version(self) -> Version {
        self.head.version
    }

    /// The host, and perhaps the port, that the request is for; `None` only for HTTP/1.0.
    #[inline]
    pub fn host(self) -> Option<&'r [u8]> {
        self.head.host.map(|host| host.of(self.bytes))
    }

    /// All fields in their order; [`Request::name`] and [`Request::value`] read them.
    #[inline]
    pub fn fields(self) -> &'r [Field] {
        self.head.fields.as_slice()
    }

    /// The name of one of [`Request::fields`], as the client spelled it.
    #[inline]
    pub fn name(self, field: &Field) -> &'r [u8] {
        field.name.of(self.bytes)
    }

    /// The value of one of [`Request::fields`].
    #[inline]
    pub fn value(self, field: &Field) -> &'r [u8] {
        field.value.of(self.bytes)
    }

    /// Whether there is a field of this name; see [`Fields::has`].
    #[inline]
    pub fn has(self, known: Known) -> bool {
        self.head.fields.has(known)
    }

    /// Whether there is a field whose name is in this set; see [`Fields::has_any`].
    #[inline]
    pub fn has_any(self, names: u128) -> bool {
        self.head.fields.has_any(names)
    }

    /// The value of the first field of this name.
    #[inline]
    pub fn first(self, known: Known) -> Option<&'r [u8]> {
        self.head.fields.first(known).map(|value| value.of(self.bytes))
    }

    /// The values of all fields of this name, in their order.
    #[inline]
    pub fn all(self, known: Known) -> impl Iterator<Item = &'r [u8]> {
        self.head.fields.all(known).map(move |value| value.of(self.bytes))
    }

    /// The values of all fields of this name, whether it is a known name or not, in their order.
    pub fn all_named(self, name: &[u8]) -> impl Iterator<Item = &'r [u8]> {
        let fields = self.fields().iter();
        fields
            .filter(move |field| self.name(field).eq_ignore_ascii_case(name))
            .map(move |field| self.value(field))
    }
}
