//! Authentication of clients: passwords, the fields of Basic and Digest, rules, and a throttle for guesses.
//!
//! This crate reads no files and no clocks, and makes no random numbers: the caller passes them in. A server uses it as
//! follows:
//!
//! 1. When it starts, the server makes a [`Secret`] of random bytes, reads its files with [`Passwords::read`],
//!    [`DigestPasswords::read`] and [`Groups::read`], and warns of users whose hashes are [`Passwords::weak`].
//! 2. A request without `Authorization` is answered with 401 and [`basic_challenge`], or [`Digest::challenges`].
//! 3. For a request with `Authorization`, [`Throttle::wait_ms`] comes first: a client that must wait gets 429 with
//!    `Retry-After`, and its password is not checked. Letting known passwords through would tell a guesser which
//!    passwords are right.
//! 4. With Basic, [`read_basic`] reads name and password, and [`Verdicts::look`] finds a known verdict. If there is
//!    none, a thread that may be busy for a while calls [`Passwords::verify`], and [`Verdicts::note`] keeps the result.
//! 5. [`Throttle::failed`] is called for failures that were verified, not for known verdicts. A success cancels no
//!    failure: otherwise somebody with one password could go on guessing others.
//! 6. With Digest, [`Digest::check`] answers within microseconds. After [`Checked::Stale`] the client is asked again,
//!    and that is not a failure; [`Checked::Bad`] is a failure if [`DigestError::is_guess`] says so.
//! 7. [`Rule::allows`] says whether this user may pass. If not, the client is asked again, because the same person may
//!    also have another user name.
//! 8. When a file has changed, it is read again and replaces the old one; then [`Verdicts::clear`] forgets the verdicts
//!    that were made with the old file. A thread must make its [`VerdictKey`] before it takes the file to verify with:
//!    then no outdated verdict is ever kept.
//!
//! If the hashes of a file have several forms or costs, the time that an answer takes reveals the form or cost of a
//! user's hash, and nothing else. If all hashes have the same form and cost, the time does not even reveal whether a
//! user exists.

#![forbid(unsafe_code)]

mod basic;
mod digest;
mod forms;
mod parameters;
mod passwords;
mod place;
mod realm;
mod rules;
mod throttle;
mod verdicts;

pub use basic::{BasicError, CREDENTIALS_BYTES_MAX, Credentials, basic_challenge, read_basic};
pub use digest::algorithm::Algorithm;
pub use digest::answer::DigestError;
pub use digest::scheme::{
    Asked, Checked, Digest, DigestLimits, DigestRequest, NONCE_MS, NONCES_MAX, digest_user,
};
pub use digest::signing::{Secret, is_signed, sign};
pub use passwords::groups::Groups;
pub use passwords::htdigest::DigestPasswords;
pub use passwords::htpasswd::Passwords;
pub use passwords::password::{HashError, PASSWORD_BYTES_MAX, PasswordHash};
pub use passwords::wrong::Wrong;
pub use place::Place;
pub use realm::{REALM_BYTES_MAX, Realm, RealmError};
pub use rules::Rule;
pub use throttle::{FAILURES, PLACES_MAX, Throttle, ThrottleLimits, WAIT_FIRST_MS, WAIT_MAX_MS, WINDOW_MS};
pub use verdicts::{BAD_MS, VERDICTS_MAX, VerdictKey, VerdictLimits, Verdicts};
