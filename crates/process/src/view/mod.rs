//! How a server stands, for a person and for programs.
//!
//! | file | of what |
//! | --- | --- |
//! | `status` | one structure, from which all others come |
//! | `usage` | what a process uses |
//! | `metrics` | the metrics for Prometheus |
//! | `table`, `screen` | lines and tables that fit onto a terminal |
//! | `top` | `adyton top` |

pub(crate) mod metrics;
mod screen;
pub(crate) mod status;
pub(crate) mod table;
pub(crate) mod top;
pub(crate) mod usage;
