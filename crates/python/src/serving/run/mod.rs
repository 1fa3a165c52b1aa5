//! A server that runs: its application, its sockets, its halves.
//!
//! | file | holds |
//! | --- | --- |
//! | `load` | the application, found by the Python half of the package |
//! | `listen` | the listening sockets |
//! | `banner` | the lines that a server prints when it starts |
//! | `supervise`, `work` | the halves of a supervisor, which a reload gives new settings, and of a worker |
//! | `reopen` | logs that are opened again |

pub(crate) mod banner;
pub(crate) mod listen;
pub(crate) mod load;
pub(crate) mod reopen;
pub(crate) mod supervise;
pub(crate) mod work;
