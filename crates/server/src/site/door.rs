//! The condition on which a client may use a route, or the content of a folder.

use std::net::IpAddr;
use std::sync::Arc;

use adyton_route::{Admission, Door as Opens};

use crate::guard::Guard;

/// The condition for a client.
pub(crate) enum Door<'r> {
    /// The client may come in.
    Open,
    /// The client has to prove who it is.
    Guarded(&'r Arc<Guard>),
    /// The client may not come in.
    Closed,
}

impl<'r> Door<'r> {
    /// Returns the condition for a client with this address; `None` is a client of a unix socket.
    #[inline]
    pub(crate) fn of(
        admission: Option<&'r Admission>,
        guard: Option<&'r Arc<Guard>>,
        client: Option<IpAddr>,
    ) -> Door<'r> {
        match (admission, guard) {
            (None, None) => Door::Open,
            (None, Some(guard)) => Door::Guarded(guard),
            (Some(admission), guard) => match (admission.door(guard.is_some(), client), guard) {
                (Opens::Open, _) => Door::Open,
                (Opens::Password, Some(guard)) => Door::Guarded(guard),
                (Opens::Password | Opens::Closed, _) => Door::Closed,
            },
        }
    }
}
