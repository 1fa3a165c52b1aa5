//! Authentication of clients: passwords, the fields of Basic and Digest, rules, and a throttle for guesses.
//!
//! Nothing here reads files or clocks, or makes random numbers: the caller has them. A server uses the parts so:
//!
//! 1. When it starts, it makes a [`Secret`] of random bytes, reads its files with [`Passwords::read`],
//!    [`DigestPasswords::read`] and [`Groups::read`], and tells whose hashes are [`Passwords::weak`].
//! 2. A request without `Authorization` is answered with 401 and [`basic_challenge`], or [`Digest::challenges`].
//! 3. For one with it, [`Throttle::wait_ms`] comes first: who must wait gets 429 with `Retry-After`, and nothing is
//!    looked at. To let known passwords through meanwhile would tell a guesser which are right.
//! 4. With Basic, [`read_basic`] reads name and password, and [`Verdicts::look`] finds a known verdict; otherwise a
//!    thread that may be busy for a while calls [`Passwords::verify`], and [`Verdicts::note`] keeps the result.
//! 5. [`Throttle::failed`] hears of failures that were verified, not of known ones. A success takes no failure back:
//!    whoever has one password could guess others.
//! 6. With Digest, [`Digest::check`] answers in microseconds. After [`Checked::Stale`] the client is asked again, which
//!    is no failure; a [`Checked::Bad`] is one if [`DigestError::is_guess`] says so.
//! 7. [`Rule::allows`] says whether this user may pass; if not, the client is asked again, as it may be another user,
//!    too.
//! 8. When a file has changed, it is read anew and takes the place of the old one; then [`Verdicts::clear`] forgets the
//!    verdicts of that one. A thread that makes a [`VerdictKey`] before it takes the file to verify with never keeps a
//!    verdict that is out of date.
//!
//! The time that an answer takes tells one thing: in a file of hashes of several forms or costs, which of them a user
//! has. Where all are alike, it does not even tell whether there is such a user.

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
