//! The course of a request through the loop: each file adds steps to [`Loop`](crate::event_loop::Loop).
//!
//! | file | holds |
//! | --- | --- |
//! | `turn` | a connection's turn, phase by phase |
//! | `serve` | requests out of a buffer, answers into the output |
//! | `routing` | a request answered by the route that its path takes, or refused there (404, 429) |
//! | `dispatch` | the choice of the thread that runs a request |
//! | `admitting`, `checking`, `caching`, `redeeming` | waits of a request: for memory, a verdict, the answer to another, a ticket |
//! | `scripting`, `script_answer` | scripts that are started, and heard |
//! | `sending_on` | requests whose target becomes another one |
//! | `passing` | connections that leave for another process, or come from one |
//! | `shed` | room for new connections when there is none |

mod admitting;
mod caching;
mod checking;
mod dispatch;
mod passing;
mod redeeming;
mod routing;
mod script_answer;
mod scripting;
mod sending_on;
mod serve;
mod shed;
mod turn;
