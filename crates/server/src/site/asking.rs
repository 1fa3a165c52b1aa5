//! The question to a guard's program: loops and threads treat it as an application, which only answers who a client is.

use std::sync::Arc;

use crate::answering::judged::Judged;
use crate::answering::outcome::Outcome;
use crate::app::{App, Call};
use crate::client::body::{Body, OwnedBody};
use crate::guard::Credentials;
use crate::site::limits::SiteLimits;
use crate::site::plan::Site;

/// The question whether these credentials are right.
struct Asking(Box<Credentials>);

impl App for Asking {
    fn call(&self, call: &mut Call<'_>) -> Outcome {
        let verdict = match self.0.ask(call) {
            Ok(verdict) => verdict,
            Err(outcome) => return outcome,
        };
        // The body was only lent: it belongs to the application that answers the request.
        let body = OwnedBody::returned(std::mem::replace(&mut call.body, Body::Empty));
        Outcome::Judged(Box::new(Judged { verdict, body }))
    }
}

/// Returns the site that an exchange is for while these credentials are asked about.
pub(crate) fn site_of(credentials: Box<Credentials>) -> Site {
    Site::of_app(Arc::new(Asking(credentials)), SiteLimits::default())
}
