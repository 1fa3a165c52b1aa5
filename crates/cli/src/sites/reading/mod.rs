//! A file of sites is read: each key is looked up, each mistake is noted.
//!
//! | file | holds |
//! | --- | --- |
//! | `document` | the whole file |
//! | `broken` | a file that is no TOML as a whole |
//! | `rows`, `keys` | the keys of sites and routes, and of each table |
//! | `unknown` | hints for a key that a table does not have |
//! | `path` | the spelling of a route's path |
//! | `mistake` | a mistake and its place |
//! | `secrets` | values that not every process gets |

mod broken;
pub(crate) mod document;
pub(crate) mod keys;
pub(crate) mod mistake;
pub(crate) mod path;
pub(crate) mod rows;
mod secrets;
mod unknown;
