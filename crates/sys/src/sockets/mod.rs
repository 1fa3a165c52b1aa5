//! Sockets.
//!
//! | file | holds |
//! | --- | --- |
//! | `socket` | stream sockets: listening, accepting, bytes in and out |
//! | `pass` | descriptors handed from process to process |
//! | `sock_diag` | sockets that listen, as the kernel lists them |

pub mod pass;
pub mod sock_diag;
pub mod socket;
