//! The course of a request through the loop: steps that take a [`Turn`](turn::Turn), and return what is next.
//!
//! `serve` is the path of a request, from top to bottom. Files below it in this table are steps of that path, and none
//! of them calls back up; files above it put connections on the path.
//!
//! | file | holds |
//! | --- | --- |
//! | `resuming` | connections that come back: from the application, from a wait, from their scripts |
//! | `serve` | the path: phases of a connection, requests out of a buffer, and which step is next |
//! | `arriving` | the header before the first request |
//! | `bodies`, `admitting` | bodies that are received, and those that wait for memory |
//! | `sending` | the rest of an answer, as the client takes it |
//! | `sending_on` | requests whose target becomes another one |
//! | `checking`, `caching`, `scripting` | waits of a request: for a verdict, another request's answer, a script |
//! | `dispatch` | the choice of the thread that runs a request |
//! | `passing` | connections that leave for another process, such as a worker of a group; `client/passage` sends them |
//! | `routing` | a request answered by the route that its path takes, or refused there |
//! | `concluding` | an answer counted, logged and sent, or a refusal |
//! | `turn` | the context of all steps |

pub(crate) mod admitting;
mod arriving;
mod bodies;
mod caching;
mod checking;
pub(crate) mod concluding;
pub(crate) mod dispatch;
mod passing;
pub(crate) mod resuming;
mod routing;
mod scripting;
mod sending;
mod sending_on;
mod serve;
pub(crate) mod turn;
