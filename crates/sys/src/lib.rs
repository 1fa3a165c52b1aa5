//! The kernel: epoll, sockets, files, signals.
