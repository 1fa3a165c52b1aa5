//! Invariants of every text as a configuration.
//!
//! | file | holds |
//! | --- | --- |
//! | `sites_files` | files of sites |
//! | `folder_files` | files of folders |
//! | `imports` | configurations of other servers |

pub(crate) mod folder_files;
pub(crate) mod imports;
pub(crate) mod sites_files;
