//! HTTP/1.1 without I/O: bytes in, events out.
