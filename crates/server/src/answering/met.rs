//! Checks that a request has passed at a route, and need not pass again at another route that answers in the place of
//! the first.

use std::sync::Arc;

use crate::site::limiter::Limiter;

/// Checks that a request has passed on its way into a route.
#[derive(Debug)]
pub(crate) struct Met {
    /// The number of the guard that has let the request in, if that guard's verdict holds for other paths, too.
    pub(crate) guard: Option<u64>,
    /// The limiter that has counted it.
    pub(crate) limiter: Option<Arc<Limiter>>,
}

/// Checks of a route that a request has passed before.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct PassedChecks {
    /// Whether its guard has let the request in.
    pub(crate) is_let_in: bool,
    /// Whether its limiter has counted the request.
    pub(crate) is_counted: bool,
}
