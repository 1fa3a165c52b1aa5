//! A first file of sites for the projects in a folder.
//!
//! | file | holds |
//! | --- | --- |
//! | `init` | `adyton init` |
//! | `django` | settings of a Django project |

mod django;
pub(crate) mod init;
