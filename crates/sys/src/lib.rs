//! The kernel: epoll, sockets, files, signals, clocks.
//!
//! No other crate calls `libc`, and only the Python glue also has unsafe code.

pub mod board;
pub mod clock;
pub mod epoll;
mod files;
pub mod pages;
mod processes;
mod sockets;
pub mod wake;
pub use files::fs;
pub use files::pipe;
pub use files::stdio;
pub use files::stream;
pub use files::temp;
pub use files::terminal;
pub use processes::child;
pub use processes::forks;
pub use processes::process;
pub use processes::signal_handlers;
pub use processes::signal_queue;
pub use processes::spawn;
pub use processes::thread_signal;
pub use processes::tid;
pub use processes::user;
pub use sockets::pass;
pub use sockets::sock_diag;
pub use sockets::socket;
