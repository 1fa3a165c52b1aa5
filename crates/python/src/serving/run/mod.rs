//! A running server: its application, its sockets, and the halves of supervisor and worker.
//!
//! | file | holds |
//! | --- | --- |
//! | `load` | the application, found by the Python half of the package |
//! | `listen` | the listening sockets |
//! | `banner` | the lines that a server prints when it starts |
//! | `supervise`, `work` | the half of a supervisor, which reads settings again at a reload, and the half of a worker |
//! | `reopen` | logs that are opened again |

pub(crate) mod banner;
pub(crate) mod listen;
pub(crate) mod load;
pub(crate) mod reopen;
pub(crate) mod supervise;
pub(crate) mod work;
