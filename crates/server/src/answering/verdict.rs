//! The verdict on the credentials of a request, while the request is on its way to being answered.

use std::sync::Arc;

use adyton_log::request::RequestId;

use crate::client::user::User;

/// The verdict on the credentials of a request.
#[derive(Clone)]
pub(crate) struct Verdict {
    /// The number of the guard that has given the verdict.
    pub(crate) guard: u64,
    /// The user, if the guard asks for one; or the reason why the client is not let in.
    pub(crate) outcome: Result<Option<Arc<User>>, Refused>,
    /// The request that waited for this verdict, if one did.
    pub(crate) of: Option<Arrived>,
    /// The verdict of the guard that was asked before this one, if the request has met another guard.
    pub(crate) before: Option<Box<Verdict>>,
}

/// The time at which a request came, in us of the monotonic clock, and its id.
#[derive(Clone)]
pub(crate) struct Arrived {
    pub(crate) started_us: u64,
    pub(crate) id: RequestId,
}

/// The reason why a client is not let in.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Refused {
    /// The client has not proved who it is, or is not a user whom the guard lets in.
    Unknown,
    /// The client's proof is right, but too old.
    Stale,
    /// The client has been wrong too often, and has to wait for this many ms.
    Throttled(u64),
    /// The client is not one that the guard's program lets in.
    Forbidden,
}

impl Verdict {
    /// The verdict of the guard with this number, if it was asked.
    pub(crate) fn of_guard(&self, guard: u64) -> Option<&Verdict> {
        std::iter::successors(Some(self), |verdict| verdict.before.as_deref())
            .find(|verdict| verdict.guard == guard)
    }
}
