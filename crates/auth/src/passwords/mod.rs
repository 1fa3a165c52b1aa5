//! Files of passwords, and how a password is verified.
//!
//! | file | holds |
//! | --- | --- |
//! | `password` | one hash: read, and compared by its form |
//! | `htpasswd`, `htdigest` | files of users and hashes, and whether a password is right |
//! | `groups` | files of groups |
//! | `wrong` | mistakes in a file, line by line |

pub(crate) mod groups;
pub(crate) mod htdigest;
pub(crate) mod htpasswd;
pub(crate) mod password;
pub(crate) mod wrong;
