//! The prototype (`--preload`): a process that has imported the application once, and forks workers that share its
//! memory.
//!
//! A worker is forked twice, so that it is the supervisor's child and not the prototype's. The application's fork
//! handlers may hang in each of the three processes: the supervisor hears of both new processes at once, so that it can
//! end them.

use std::io;
use std::os::fd::OwnedFd;

use adyton_log as log;
use adyton_sys::{child, pass};

use crate::lines::message::{FromWorker, Source};
use crate::lines::place::Place;
use crate::lines::worker::Worker;

/// Message of a prototype that has imported the application.
pub(crate) const READY: &[u8] = b"ready";

/// Order to a prototype to open the logs again.
pub(crate) const REOPEN: &[u8] = b"reopen";

/// The line of a prototype to its supervisor.
pub struct PrototypeOrders {
    line: OwnedFd,
}

impl PrototypeOrders {
    /// Opens the line, which is the descriptor with this number; a second number, behind a comma, is the descriptor of
    /// the file of sites (`handed`).
    ///
    /// # Errors
    ///
    /// No descriptor has this number.
    pub fn open(told: &str) -> io::Result<Self> {
        let number = told.split(',').next().unwrap_or(told);
        Ok(Self { line: child::inherit(number.parse().map_err(io::Error::other)?)? })
    }

    /// Says that the application is imported.
    ///
    /// # Errors
    ///
    /// The supervisor is gone.
    pub fn ready(&self) -> io::Result<()> {
        pass::send(&self.line, READY, &[])
    }

    /// Says which files the application is made of, although it could not be imported.
    pub fn blame(&self, files: Vec<Source>) {
        for file in files {
            // One file at a time, because the length of a message is limited. A supervisor that is gone needs to know
            // nothing.
            let said = serde_json::to_vec(&FromWorker::Sources(vec![file]));
            let _ = said.map(|said| pass::send(&self.line, &said, &[]));
        }
    }

    /// Waits for the order to fork a worker, and opens the log again meanwhile when told so; `None` when no more
    /// workers are wanted.
    ///
    /// # Errors
    ///
    /// The supervisor's order is not understood.
    pub fn next(&self) -> io::Result<Option<Worker>> {
        let (text, descriptors) = loop {
            match pass::receive(&self.line)? {
                None => return Ok(None),
                Some((text, _)) if text == REOPEN => log::reopen(),
                Some(order) => break order,
            }
        };
        let place = std::str::from_utf8(&text).map_err(io::Error::other)?;
        let place = Place::read(place).map_err(io::Error::other)?;
        Worker::received(place, descriptors).map(Some)
    }
}
