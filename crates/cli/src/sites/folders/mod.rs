//! Files of settings in folders.
//!
//! | file | holds |
//! | --- | --- |
//! | `own` | settings of one folder |
//! | `runs` | files of a folder that are run |
//! | `on_the_way` | the files on the way to a path, as they are now |

pub(super) mod on_the_way;
pub(super) mod own;
pub(super) mod runs;
