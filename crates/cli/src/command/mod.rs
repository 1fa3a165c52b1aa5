//! The command line: orders and their options, and the errors about them.
//!
//! | file | holds |
//! | --- | --- |
//! | `arguments` | command, target and flags |
//! | `target` | the meaning of `TARGET` |
//! | `help` | the text of `--help` |
//! | `orders` | orders to a server that runs |
//! | `nearest`, `elsewhere` | the name that was meant, here and by users of other servers |
//! | `failure` | the reason why a server does not start |

pub(crate) mod arguments;
pub(crate) mod elsewhere;
pub(crate) mod failure;
pub(crate) mod help;
pub(crate) mod nearest;
mod orders;
pub(crate) mod target;
