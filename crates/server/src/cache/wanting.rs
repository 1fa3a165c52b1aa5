//! Requests that wait for the answer to another request.

use std::sync::Arc;

use adyton_cache::{Fill, Rules};

use crate::cgi::WantedScript;
use crate::site::plan::Site;

/// A request that waits for the answer to another request.
pub(crate) struct Wanting {
    pub(crate) fill: Fill,
    pub(crate) site: Arc<Site>,
    pub(crate) route: usize,
    pub(crate) rules: Rules,
    /// The script that would be run, if a script answers.
    pub(crate) script: Option<Box<WantedScript>>,
}
