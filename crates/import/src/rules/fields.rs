//! Request header fields that servers in front set or remove: an application may believe their values.

/// The reason for a loss of a field that clients could send themselves here.
pub(crate) const BELIEVED: &str =
    "the application gets the fields of requests as clients send them, and may believe this one";

/// The reason for a loss of a field in which proxies describe a client or a connection.
pub(crate) const OF_PROXY: &str = "the application gets this field as clients send it; trusted-proxies and trusted-fields say which proxies and fields are trusted";

/// Whether proxies describe a client or a connection in a field, which has its own settings here.
pub(crate) fn is_of_proxy(field: &str) -> bool {
    FIELDS.iter().any(|name| name.eq_ignore_ascii_case(field))
}

const FIELDS: [&str; 25] = [
    "Accept-Encoding",
    "Connection",
    "Content-Length",
    "Content-Type",
    "Forwarded",
    "Host",
    "Proxy",
    "SCRIPT_NAME",
    "Upgrade",
    "Via",
    "X-Client-IP",
    "X-Forwarded-By",
    "X-Forwarded-For",
    "X-Forwarded-Host",
    "X-Forwarded-Port",
    "X-Forwarded-Prefix",
    "X-Forwarded-Proto",
    "X-Forwarded-Protocol",
    "X-Forwarded-Scheme",
    "X-Forwarded-Server",
    "X-Forwarded-Ssl",
    "X-Real-IP",
    "X-Request-ID",
    "X-Scheme",
    "X-Script-Name",
];
