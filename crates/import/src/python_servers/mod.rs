//! Importers of servers of Python applications.
//!
//! | file | holds |
//! | --- | --- |
//! | `gunicorn` | `gunicorn.conf.py` |
//! | `uwsgi` | `uwsgi.ini` |
//! | `python` | parts that both use |

pub(crate) mod gunicorn;
pub(crate) mod python;
pub(crate) mod uwsgi;
