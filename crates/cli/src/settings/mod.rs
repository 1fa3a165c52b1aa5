//! Settings: their descriptions, where a value is given, and its effect.
//!
//! | file | holds |
//! | --- | --- |
//! | `row` | the description of one setting |
//! | `typed` | the sections of `rows/` as one value, and sites |
//! | `resolve` | settings out of the given values |
//! | `waiting` | settings that a reload cannot change: compares their old and new values |
//! | `said` | the place where a setting is given |
//! | `around` | access and edits, as tables of a file inherit them |
//! | `may_set` | the settings that a folder may have |
//! | `bind`, `units` | the forms of addresses and of numbers |
//! | `reference` | the reference page |

pub(crate) mod around;
pub(crate) mod bind;
pub(crate) mod may_set;
pub(crate) mod reference;
pub(crate) mod resolve;
pub(crate) mod row;
pub(crate) mod said;
pub(crate) mod typed;
pub(crate) mod units;
pub(crate) mod waiting;
