//! Connections that come back to the path of their requests: each file takes them from another place.
//!
//! | file | a connection goes on because |
//! | --- | --- |
//! | `turning` | something has come for it, or its time is over: a client that sends its head too slowly, or reads too slowly, is given up here; a client that sends its body too slowly, in `course/bodies` |
//! | `returning` | the application has given its exchange back |
//! | `redeeming` | the event for which its request waits has come, or has not come in time |
//! | `checked` | the credentials of its request are verified |
//! | `kept` | the answer to another request is there |
//! | `script_events` | its script may start, has written something, has ended, or is ended because its time is over |
//! | `script_answer` | the head of its script's answer is there |
//! | `awaited` | another file of this folder has an answer for it |
//! | `overdue` | its call of the application, or its wait in the queue, takes too long |
//! | `departed` | its client has gone: it does not go on |

mod awaited;
mod checked;
mod departed;
mod kept;
pub(crate) mod overdue;
pub(crate) mod redeeming;
pub(crate) mod returning;
mod script_answer;
pub(crate) mod script_events;
pub(crate) mod turning;
