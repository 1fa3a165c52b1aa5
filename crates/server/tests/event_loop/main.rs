//! The event loop, driven on threads of these tests and spoken to over real sockets.
//!
//! No test sleeps and hopes: what must happen is waited for, with [`support::PATIENCE`] as the bound, and
//! what must not happen is given [`support::A_MOMENT`] to happen.

#![allow(
    clippy::unwrap_used,
    clippy::expect_used,
    clippy::panic,
    reason = "a test that meets the unexpected should fail on the spot"
)]

mod calls;
mod hand_over;
mod limits;
mod passages;
mod several_loops;
mod sites;
mod stop;
mod streams;
mod support;
mod tickets;
mod timeouts;
