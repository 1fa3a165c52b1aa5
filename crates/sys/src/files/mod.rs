//! Files, pipes and terminals.
//!
//! | file | holds |
//! | --- | --- |
//! | `fs` | files beneath a folder, from which no path leads out |
//! | `temp` | temporary files without a name |
//! | `pipe` | pipes to and from programs |
//! | `stdio`, `stream`, `terminal` | standard streams, and the streams to which a log is written |
//! | `marks` | marks on the descriptors that belong to the server |

pub mod fs;
pub(crate) mod marks;
pub mod pipe;
pub mod stdio;
pub mod stream;
pub mod temp;
pub mod terminal;
