//! Groups with workers of their own, each beneath a supervisor of its own, which is called a branch.
//!
//! | file | holds |
//! | --- | --- |
//! | `branches` | the decision which branches there should be |
//! | `branch` | orders to the supervisor of a group |
//! | `doorways` | passages and lines between the door and its branches |
//! | `group_sockets` | sockets at which a group accepts by itself |
//! | `group_reloads` | clients that wait until a group has been reloaded |

pub(crate) mod branch;
pub(crate) mod branches;
pub(crate) mod doorways;
pub(crate) mod group_reloads;
pub(crate) mod group_sockets;
