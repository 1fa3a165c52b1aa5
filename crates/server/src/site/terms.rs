//! The terms on which a site treats its clients, whatever answers them.

use std::sync::atomic::{AtomicU8, Ordering};
use std::sync::{Arc, Mutex};

use crate::access_log::AccessLog;
use crate::board::prefixes::NOWHERE;
use crate::site::limits::SiteLimits;

/// A log that several sites may share.
pub type SharedLog = Arc<Mutex<AccessLog>>;

/// A page of a site's own, for a status that the server itself answers with.
#[derive(Clone, Debug)]
pub struct StatusPage {
    /// The status.
    pub status: u16,
    /// The media type of the body.
    pub content_type: Box<str>,
    /// The body.
    pub body: Box<[u8]>,
}

/// The limits of a site, its log, and its pages.
pub(crate) struct Terms {
    /// The name of the site in logs: its first one, if it has any.
    pub(crate) name: Option<Box<str>>,
    /// How much its clients may send, and how long everything may take.
    pub(crate) limits: SiteLimits,
    /// The log of its answers, for all loops: lines are in the order in which the answers were finished.
    pub(crate) log: Option<SharedLog>,
    /// Pages in place of the server's own; if two are for one status, the last one counts.
    pub(crate) pages: Vec<StatusPage>,
    /// Row of the tally in which its answers are counted.
    row: AtomicU8,
}

impl Terms {
    /// Makes terms that are counted nowhere until they have a row.
    pub(crate) fn new(
        name: Option<Box<str>>,
        limits: SiteLimits,
        log: Option<SharedLog>,
        pages: Vec<StatusPage>,
    ) -> Terms {
        Terms { name, limits, log, pages, row: AtomicU8::new(NOWHERE) }
    }

    /// The row of the tally in which answers are counted, if they are.
    #[inline]
    pub(crate) fn row(&self) -> Option<u8> {
        let row = self.row.load(Ordering::Relaxed);
        (row != NOWHERE).then_some(row)
    }

    /// Has answers counted in a row of the tally.
    pub(crate) fn set_row(&self, row: u8) {
        self.row.store(row, Ordering::Relaxed);
    }

    /// Returns these terms with more pages, which replace earlier ones.
    pub(crate) fn with_more_pages(&self, pages: Vec<StatusPage>) -> Terms {
        let pages = self.pages.iter().cloned().chain(pages).collect();
        let row = AtomicU8::new(self.row.load(Ordering::Relaxed));
        Terms { row, ..Terms::new(self.name.clone(), self.limits, self.log.clone(), pages) }
    }

    /// Returns the terms for a client whose site is not known here: without the name and the pages of the site.
    pub(crate) fn of_no_site(&self) -> Terms {
        Terms::new(None, self.limits, self.log.clone(), Vec::new())
    }

    /// The site's own page for this status.
    pub(crate) fn page_of(&self, status: u16) -> Option<&StatusPage> {
        self.pages.iter().rev().find(|page| page.status == status)
    }
}
