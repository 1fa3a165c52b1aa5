//! Files that a configuration includes: read by the caller, counted here.

use std::sync::Arc;

use crate::model::{Mistake, Place, plain};

/// Limit of files in all: a large site has hundreds.
const FILES_MAX: usize = 1_000;

/// Limit of files in files: Apache allows 128 by default, and nobody needs as many.
const DEPTH_MAX: usize = 16;

/// Limit of bytes in all files together.
const BYTES_MAX: usize = 16 << 20;

/// A file that a pattern has found.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Found {
    /// The name, as messages show it.
    pub name: String,
    /// The content.
    pub text: String,
}

/// The reader of included files, which counts them.
pub(crate) struct Includes<'a> {
    find: &'a mut dyn FnMut(&str) -> Result<Vec<Found>, String>,
    /// The files that are being read, the outermost first.
    open: Vec<Arc<str>>,
    files: usize,
    bytes: usize,
}

impl<'a> Includes<'a> {
    pub(crate) fn new(find: &'a mut dyn FnMut(&str) -> Result<Vec<Found>, String>) -> Includes<'a> {
        Includes { find, open: Vec::new(), files: 0, bytes: 0 }
    }

    /// Begins to read a file.
    pub(crate) fn begin(&mut self, file: &Arc<str>, text: &str) -> Result<(), Mistake> {
        let wrong = |what: String| Err(Mistake { place: Place { file: Arc::clone(file), line: 1 }, what });
        if self.open.contains(file) {
            return wrong("this file includes itself".to_owned());
        }
        if self.open.len() >= DEPTH_MAX {
            return wrong(format!("files include each other more than {DEPTH_MAX} deep"));
        }
        self.files += 1;
        self.bytes += text.len();
        if self.files > FILES_MAX {
            return wrong(format!("there are more than {FILES_MAX} files"));
        }
        if self.bytes > BYTES_MAX {
            return wrong(format!("the files have more than {} MiB", BYTES_MAX >> 20));
        }
        self.open.push(Arc::clone(file));
        Ok(())
    }

    /// Ends the file that was begun last.
    pub(crate) fn end(&mut self) {
        self.open.pop();
    }

    /// Finds the files of a pattern; a name without wildcards has to exist.
    pub(crate) fn find(&mut self, pattern: &str, place: &Place) -> Result<Vec<Found>, Mistake> {
        let wrong = |what: String| Mistake { place: place.clone(), what };
        let shown = plain(pattern);
        let mut found = (self.find)(pattern).map_err(|why| wrong(format!("{shown}: {}", plain(&why))))?;
        for one in &mut found {
            one.name = plain(&one.name);
        }
        if found.is_empty() && !pattern.contains(['*', '?', '[']) {
            return Err(wrong(format!("{shown}: there is no such file; restrictions in it would be lost")));
        }
        Ok(found)
    }
}
