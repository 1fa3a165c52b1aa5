//! Files that are run and not sent.
//!
//! | file | holds |
//! | --- | --- |
//! | `programs` | a folder of programs |
//! | `scripts` | a folder of Python scripts |
//! | `runs` | rules of folders that say which files are run |
//! | `sources` | files whose source text is never sent |

pub mod programs;
pub mod runs;
pub mod scripts;
pub(crate) mod sources;
