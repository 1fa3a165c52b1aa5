//! Rules of other servers: their counterparts here, and their losses.
//!
//! | file | holds |
//! | --- | --- |
//! | `access` | rules of which the first that fits counts |
//! | `proxy_trust`, `fields` | proxies that are trusted, and fields that applications may believe |
//! | `reach` | the addresses of sites |
//! | `lost` | patterns of paths that no route can say |
//! | `pages`, `inner` | pages for errors |
//! | `folder_handlers`, `folder_lines` | lines of a folder's file |

pub(crate) mod access;
pub(crate) mod fields;
pub(crate) mod folder_handlers;
pub(crate) mod folder_lines;
pub(crate) mod inner;
pub(crate) mod lost;
pub(crate) mod pages;
pub(crate) mod proxy_trust;
pub(crate) mod reach;
