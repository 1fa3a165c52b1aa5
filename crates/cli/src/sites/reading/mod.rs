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
pub(super) mod document;
pub(super) mod keys;
pub(super) mod mistake;
pub(super) mod path;
pub(super) mod rows;
mod secrets;
mod unknown;
