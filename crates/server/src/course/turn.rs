//! A turn of a connection: the context that all steps of its course share.

use std::panic::{AssertUnwindSafe, catch_unwind};

use adyton_log::{self as log, messages};

use crate::answering::errand::Errand;
use crate::answering::step::Worked;
use crate::client::connection::Connection;
use crate::event_loop::Loop;
use crate::threads::desk::Desk;

/// A connection in its turn, with all that its steps work with. A step takes the turn, and returns what is next.
pub(crate) struct Turn<'t> {
    /// The loop of the connection, which this thread drives.
    pub(crate) driven: &'t mut Loop,
    pub(crate) desk: &'t mut Desk,
    /// The connection's key in the loop.
    pub(crate) key: usize,
    pub(crate) connection: Box<Connection>,
}

impl<'t> Turn<'t> {
    #[inline]
    pub(crate) fn new(
        driven: &'t mut Loop,
        desk: &'t mut Desk,
        key: usize,
        connection: Box<Connection>,
    ) -> Self {
        Self { driven, desk, key, connection }
    }
}

/// Works on a connection that was taken out of the table. A panic in `work`, a fault of our own, ends that
/// connection and no more.
pub(crate) fn guarded(
    driven: &mut Loop,
    key: usize,
    desk: &mut Desk,
    work: impl FnOnce(&mut Loop, &mut Desk) -> Worked,
) -> Option<Errand> {
    let worked = catch_unwind(AssertUnwindSafe(|| work(driven, desk))).unwrap_or_else(|_| {
        // The panic's own message is in the log already.
        log::write(
            &messages::SERVER_FAILED,
            format_args!("the server itself failed; one connection was closed"),
        );
        *desk = Desk::new(&driven.shared.config);
        Worked::Ended(None)
    });
    match worked {
        Worked::Kept(connection) => {
            driven.put_back(key, connection);
            None
        }
        Worked::Away(errand) => errand,
        Worked::Ended(errand) => {
            driven.forget(key);
            errand
        }
    }
}
