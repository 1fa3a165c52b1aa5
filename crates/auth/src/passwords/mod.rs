//! Files of passwords, and the verification of a password.
//!
//! | file | holds |
//! | --- | --- |
//! | `password` | one hash: reading it, and verifying a password by the hash's form |
//! | `htpasswd`, `htdigest` | files of users and hashes, and the check whether a password is right |
//! | `groups` | files of groups |
//! | `wrong` | mistakes in a file, line by line |

pub(crate) mod groups;
pub(crate) mod htdigest;
pub(crate) mod htpasswd;
pub(crate) mod password;
pub(crate) mod wrong;
