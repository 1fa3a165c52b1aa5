//! Files, pipes and terminals.
//!
//! | file | holds |
//! | --- | --- |
//! | `fs` | files beneath a folder, from which no path leads out |
//! | `temp` | temporary files without a name |
//! | `pipe` | pipes to and from programs |
//! | `stdio`, `stream`, `terminal` | standard streams, and where a log is written |
//! | `marks` | the marks of the server's own descriptors |

pub mod fs;
pub(crate) mod marks;
pub mod pipe;
pub mod stdio;
pub mod stream;
pub mod temp;
pub mod terminal;
