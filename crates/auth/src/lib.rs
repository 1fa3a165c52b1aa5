//! Who a client is: passwords, the fields of Basic and Digest, rules, and what slows guessing down.

#![forbid(unsafe_code)]

mod forms;
mod password;

pub use password::{HashError, PASSWORD_BYTES_MAX, PasswordHash};
