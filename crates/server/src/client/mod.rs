//! One client: its connection, what it has sent, and what is still to be sent to it.
//!
//! | file | holds |
//! | --- | --- |
//! | `connection` | the phase of a connection, and its received bytes |
//! | `transport` | the socket, or what else carries the bytes |
//! | `addresses` | the number of connections of each address |
//! | `asker`, `user` | the sender of a request: address and name |
//! | `body/` | the bodies of requests |
//! | `stored` | files without a name, in which bodies and answers wait |
//! | `outbox`, `output`, `held` | bytes still to be sent, and the memory that they take |
//! | `reader` | the pace at which the client reads; `course/resuming/turning` and `answering/reply` give up slow clients |
//! | `passage` | the message and the descriptor of a connection that goes to another process; `course/passing` decides |

pub(crate) mod addresses;
pub(crate) mod asker;
pub(crate) mod body;
pub(crate) mod connection;
pub(crate) mod held;
pub(crate) mod outbox;
pub(crate) mod output;
pub mod passage;
pub(crate) mod reader;
pub(crate) mod stored;
pub(crate) mod transport;
pub(crate) mod user;
