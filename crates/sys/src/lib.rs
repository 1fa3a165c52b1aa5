//! The kernel: epoll, sockets, files, signals, clocks.
//!
//! The only crate that calls `libc`; everything above it is safe code.

pub mod board;
pub mod child;
pub mod clock;
pub mod epoll;
pub mod forks;
pub mod fs;
pub mod knock;
mod marks;
pub mod pages;
pub mod pass;
pub mod pipe;
pub mod process;
pub mod signal_handlers;
pub mod signal_queue;
pub mod sock_diag;
pub mod socket;
pub mod spawn;
pub mod stdio;
pub mod stream;
pub mod temp;
pub mod terminal;
pub mod tid;
pub mod user;
pub mod wake;
