//! The machine and the server during a run, as the kernel counts them.
//!
//! | file | holds |
//! | --- | --- |
//! | `others` | the time that other programs and machines took |
//! | `server_side` | the server's processes: CPU time and memory |
//! | `listen_queue` | connections that the kernel dropped |

pub(crate) mod listen_queue;
pub(crate) mod others;
pub(crate) mod server_side;
