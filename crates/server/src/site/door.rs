//! What a client has to do to use a route, or what is in a folder.

use std::net::IpAddr;
use std::sync::Arc;

use adyton_route::{Admission, Door as Opens};

use crate::guard::Guard;

/// What a client has to do.
pub(crate) enum Door<'r> {
    /// Nothing.
    Open,
    /// To say who it is.
    Guarded(&'r Arc<Guard>),
    /// It may not.
    Closed,
}

impl<'r> Door<'r> {
    /// What a client with this address has to do; `None` is a client of a unix socket.
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
