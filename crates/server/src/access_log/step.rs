//! The parts of a line.

use adyton_http::Known;

/// One part of a line.
#[derive(Debug, PartialEq, Eq)]
pub(super) enum FormatStep {
    /// Text that is the same in every line.
    Text(Vec<u8>),
    /// `%h`, `%a`
    Client,
    /// `%u`
    User,
    /// `%t`
    Time,
    /// `%r`
    RequestLine,
    /// `%v`
    Site,
    /// `%m`
    Method,
    /// `%U`
    Path,
    /// `%q`
    Query,
    /// `%H`
    Protocol,
    /// `%s`
    Status,
    /// `%B`
    Bytes,
    /// `%b`
    BytesOrDash,
    /// `%D`
    Microseconds,
    /// `%T`
    Seconds,
    /// `%L`
    Id,
    /// `%{Name}i` of a field name that the parser knows.
    Field(Known),
    /// `%{Name}i` of any other name.
    OtherField(String),
}
