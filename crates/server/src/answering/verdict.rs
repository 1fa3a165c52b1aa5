//! What has come of the credentials of a request, while it is on its way to being answered.

use std::sync::Arc;

use adyton_log::request::RequestId;

use crate::client::user::User;

/// What has come of the credentials of a request.
#[derive(Clone)]
pub(crate) struct Verdict {
    /// The number of the guard that they were for.
    pub(crate) guard: u64,
    /// Who it is, if that was asked, or why it is not let in.
    pub(crate) outcome: Result<Option<Arc<User>>, Refused>,
    /// The request that waited for it, if one did.
    pub(crate) of: Option<Arrived>,
    /// What another guard on the way has said before.
    pub(crate) before: Option<Box<Verdict>>,
}

/// When a request came, in us of the monotonic clock, and what it is called.
#[derive(Clone)]
pub(crate) struct Arrived {
    pub(crate) started_us: u64,
    pub(crate) id: RequestId,
}

/// Why a client is not let in.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Refused {
    /// It has not proved who it is, or is somebody else.
    Unknown,
    /// Its proof is too old, and would be right else.
    Stale,
    /// It has been wrong too often, and is to wait for so many ms.
    Throttled(u64),
    /// It is not one of those that a program lets in.
    Forbidden,
}

impl Verdict {
    /// What the guard with this number has said, if it was asked.
    pub(crate) fn of_guard(&self, guard: u64) -> Option<&Verdict> {
        std::iter::successors(Some(self), |verdict| verdict.before.as_deref())
            .find(|verdict| verdict.guard == guard)
    }
}
