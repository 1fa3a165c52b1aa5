//! Values of Python as the server reads and sends them.
//!
//! | file | holds |
//! | --- | --- |
//! | `bytes`, `text`, `path` | `bytes` and `str` that are made of what a client has sent |
//! | `payload` | `bytes` that are sent from where they are |
//! | `items`, `streamed` | the body of an answer, as an iterable and as a stream |
//! | `file_wrapper` | `wsgi.file_wrapper` |

pub(crate) mod bytes;
pub(crate) mod file_wrapper;
pub(crate) mod items;
pub(crate) mod path;
pub(crate) mod payload;
pub(crate) mod streamed;
pub(crate) mod text;
