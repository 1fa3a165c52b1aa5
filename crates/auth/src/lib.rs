//! Who a client is: passwords, the fields of Basic and Digest, rules, and what slows guessing down.

#![forbid(unsafe_code)]

mod basic;
mod forms;
mod groups;
mod htpasswd;
mod password;
mod realm;
mod rules;
mod signing;
mod throttle;
mod verdicts;
mod wrong;

pub use basic::{BasicError, CREDENTIALS_BYTES_MAX, Credentials, basic_challenge, read_basic};
pub use groups::Groups;
pub use htpasswd::Passwords;
pub use password::{HashError, PASSWORD_BYTES_MAX, PasswordHash};
pub use realm::{REALM_BYTES_MAX, Realm, RealmError};
pub use rules::Rule;
pub use signing::Secret;
pub use throttle::{FAILURES, PLACES_MAX, Throttle, ThrottleLimits, WAIT_FIRST_MS, WAIT_MAX_MS, WINDOW_MS};
pub use verdicts::{BAD_MS, VERDICTS_MAX, VerdictKey, VerdictLimits, Verdicts};
pub use wrong::Wrong;
