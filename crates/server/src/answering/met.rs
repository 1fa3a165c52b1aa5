//! What a request has met at a route, and need not meet again at another one that answers in its place.

use std::sync::Arc;

use crate::site::limiter::Limiter;

/// What a request has met on its way into a route.
#[derive(Debug)]
pub(crate) struct Met {
    /// The number of the guard that has let it in, if one was asked, and unless that one may think otherwise of another path.
    pub(crate) guard: Option<u64>,
    /// What has counted it.
    pub(crate) limiter: Option<Arc<Limiter>>,
}

/// What of a route a request has met before.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Past {
    /// Whether its guard has let the request in.
    pub(crate) is_let_in: bool,
    /// Whether its limiter has counted the request.
    pub(crate) is_counted: bool,
}
