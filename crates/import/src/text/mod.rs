//! The texts that configurations are made of.
//!
//! | file | holds |
//! | --- | --- |
//! | `literal` | values as JSON and Python write them |
//! | `glob`, `regex` | names with wildcards, and regular expressions |
//! | `quantity` | times, sizes and formats of logs |
//! | `include` | files that a configuration includes |

pub(crate) mod glob;
pub(crate) mod include;
pub(crate) mod literal;
pub(crate) mod quantity;
pub(crate) mod regex;
