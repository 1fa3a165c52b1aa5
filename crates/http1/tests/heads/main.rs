//! Request heads: each rule as cases, fed whole, byte by byte, and with a pipelined tail.

mod accessors;
mod feed;
mod fields;
mod framing;
mod limits;
mod start_line;
mod twin;
