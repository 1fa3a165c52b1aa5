//! The state of a server, for a person and for programs.
//!
//! | file | holds |
//! | --- | --- |
//! | `status` | one structure, from which all views are made |
//! | `usage` | the CPU time and memory of a process |
//! | `metrics` | the metrics for Prometheus |
//! | `table`, `screen` | lines and tables that fit onto a terminal |
//! | `top` | `adyton top` |

pub(crate) mod metrics;
mod screen;
pub(crate) mod status;
pub(crate) mod table;
pub(crate) mod top;
pub(crate) mod usage;
