//! Files that are run and not sent.
//!
//! | file | holds |
//! | --- | --- |
//! | `programs` | a folder of programs |
//! | `scripts` | a folder of Python scripts |
//! | `runs` | files that are run because folders say so |
//! | `sources` | files whose text no folder sends |

pub mod programs;
pub mod runs;
pub mod scripts;
pub(crate) mod sources;
