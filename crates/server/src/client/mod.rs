//! One client: its connection, what it has sent, and what is still to be sent to it.
//!
//! | file | of what |
//! | --- | --- |
//! | `connection` | where a connection stands, and what it has received |
//! | `transport` | the socket, or what else carries the bytes |
//! | `addresses` | how many connections each address has |
//! | `asker`, `user` | who has sent a request: the address, the name |
//! | `body/` | the bodies of requests |
//! | `stored` | files without a name, in which bodies and answers wait |
//! | `outbox`, `output`, `held` | what is still to be sent, and the memory that it takes |
//! | `reader` | how fast the client reads |
//! | `passage` | a connection on its way to another process |

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
