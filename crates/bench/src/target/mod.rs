//! Targets: the URLs that requests are sent to.
//!
//! | file | holds |
//! | --- | --- |
//! | `url` | one URL |
//! | `url_list` | a list of URLs, with weights |

pub(crate) mod url;
mod url_list;
