//! A first file of sites for what a folder has in it.
//!
//! | file | holds |
//! | --- | --- |
//! | `init` | `adyton init` |
//! | `django` | settings of a Django project |

mod django;
pub(crate) mod init;
