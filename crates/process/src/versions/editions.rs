//! Editions: the text of a file of sites for the workers of a generation, as it was when the generation was begun.
//!
//! If a worker read the file itself, it might find a newer text, which nobody has checked, or a file that the worker's
//! user may not read. So the supervisor reads the file, once for each generation, into memory that no process can write
//! any more.

use std::collections::BTreeMap;
use std::fs::File;
use std::io;
use std::os::fd::{AsFd, BorrowedFd, OwnedFd, RawFd};
use std::os::unix::fs::FileExt;

use adyton_log::sink::Destination;
use adyton_sys::{child, temp};

use crate::groups::branch::BranchTold;
use crate::groups::doorways::GroupPlan;
use crate::lines::place::Place;

/// The file of sites for the workers of the first generation, and a function that reads it anew for the next one.
pub struct Edition {
    /// The file for the first generation.
    pub first: Version,
    /// Reads the file anew, or says what is wrong with it.
    pub read: Box<dyn FnMut() -> Result<Version, String>>,
}

/// A file of sites, and the groups that it names.
#[derive(Clone, Debug)]
pub struct Version {
    /// The text of the file.
    pub text: String,
    /// Its groups, in their order.
    pub groups: Vec<GroupPlan>,
    /// The outputs of access logs.
    pub access_logs: Vec<Destination>,
}

/// The editions of each generation; empty if there is no file of sites.
#[derive(Default)]
pub(crate) struct Editions {
    read: Option<Box<dyn FnMut() -> Result<Version, String>>>,
    /// The editions, by the first generation of each.
    since: BTreeMap<u32, OwnedFd>,
}

impl Editions {
    /// Makes the editions of a supervisor.
    pub(crate) fn new(edition: Option<Edition>) -> io::Result<Editions> {
        let Some(Edition { first, read }) = edition else { return Ok(Editions::default()) };
        Ok(Editions { read: Some(read), since: BTreeMap::from([(0, temp::sealed(first.text.as_bytes())?)]) })
    }

    /// Reads the file anew; the error says why it cannot be served.
    pub(crate) fn read(&mut self) -> Result<Option<(OwnedFd, Version)>, String> {
        let Some(read) = &mut self.read else { return Ok(None) };
        let version = read()?;
        let sealed = temp::sealed(version.text.as_bytes()).map_err(|error| error.to_string())?;
        Ok(Some((sealed, version)))
    }

    /// Sets the edition that was read for this generation and later generations; `proven` is the oldest generation of
    /// which workers may be started.
    pub(crate) fn begin(&mut self, generation: u32, proven: u32, edition: Option<OwnedFd>) {
        let Some(edition) = edition else { return };
        self.since.insert(generation, edition);
        let kept = self.since.range(..=proven).next_back().map_or(0, |(since, _)| *since);
        self.since.retain(|since, _| *since >= kept);
    }

    /// Returns the edition for the workers of a generation.
    pub(crate) fn of(&self, generation: u32) -> Option<BorrowedFd<'_>> {
        self.since.range(..=generation).next_back().map(|(_, edition)| edition.as_fd())
    }
}

/// The file of sites that a process has received.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Handed {
    /// The text of the file of sites.
    pub text: String,
    /// The group that the process belongs to; `None` if it belongs to the door.
    pub group: Option<String>,
}

/// Returns the file of sites for the process that was started with these arguments.
///
/// # Errors
///
/// The file that the arguments name is not there, or is no text.
pub fn handed(arguments: &[String]) -> io::Result<Option<Handed>> {
    let found: Option<(RawFd, Option<String>)> = match arguments {
        [command, told, ..] if command == "worker" => {
            Place::read(told).ok().and_then(|place| Some((place.edition()?, place.group)))
        }
        [command, told, ..] if command == "group" => {
            BranchTold::read(told).ok().map(|told| (told.edition(), Some(told.group)))
        }
        [command, told, ..] if command == "prototype" => {
            let mut words = told.split(',').skip(1);
            let number = words.next().and_then(|number| number.parse().ok());
            number.map(|number| (number, words.next().map(str::to_owned)))
        }
        _ => None,
    };
    let Some((number, group)) = found else { return Ok(None) };
    let file = File::from(child::inherit(number)?);
    // All processes that have the file share its position, so the position is not used.
    let mut text = vec![0; usize::try_from(file.metadata()?.len()).map_err(io::Error::other)?];
    file.read_exact_at(&mut text, 0)?;
    let text = String::from_utf8(text).map_err(io::Error::other)?;
    Ok(Some(Handed { text, group }))
}

#[cfg(test)]
mod tests {
    use std::fs::File;
    use std::io;
    use std::os::fd::AsRawFd;
    use std::os::unix::fs::FileExt;

    use super::{Edition, Editions, Version, handed};

    fn version(text: &str) -> Version {
        Version { text: text.to_owned(), groups: Vec::new(), access_logs: Vec::new() }
    }

    /// Returns the text for workers of this generation.
    fn text(editions: &Editions, generation: u32) -> io::Result<String> {
        let edition = editions.of(generation).ok_or(io::ErrorKind::NotFound)?;
        // A process that inherits the edition reads it in the same way.
        let copy = edition.try_clone_to_owned()?;
        let told = format!("3,{}", copy.as_raw_fd());
        std::mem::forget(copy);
        let handed = handed(&["prototype".to_owned(), told])?;
        handed.map(|handed| handed.text).ok_or_else(|| io::ErrorKind::NotFound.into())
    }

    #[test]
    fn each_generation_has_its_own() -> io::Result<()> {
        let mut texts = vec![Ok(version("third")), Err("a mistake".to_owned()), Ok(version("second"))];
        let read = Box::new(move || texts.pop().unwrap_or_else(|| Err("gone".to_owned())));
        let mut editions = Editions::new(Some(Edition { first: version("first"), read }))?;

        assert_eq!(["first", "first"], [text(&editions, 1)?, text(&editions, 7)?].map(String::leak));

        let mut next = || editions.read().map(|read| read.map(|(text, _)| text));
        let second = next().map_err(io::Error::other)?;
        editions.begin(2, 1, second);

        assert_eq!(["first", "second"], [text(&editions, 1)?, text(&editions, 2)?].map(String::leak));
        assert_eq!(Some("a mistake".to_owned()), editions.read().err());

        let third = editions.read().map_err(io::Error::other)?.map(|(text, _)| text);
        editions.begin(3, 2, third);

        assert!(editions.of(1).is_none());
        assert_eq!(["second", "third"], [text(&editions, 2)?, text(&editions, 3)?].map(String::leak));
        Ok(())
    }

    #[test]
    fn no_process_can_write_it() -> io::Result<()> {
        let read = Box::new(|| Err(String::new()));
        let editions = Editions::new(Some(Edition { first: version("kept"), read }))?;
        let edition = editions.of(1).ok_or(io::ErrorKind::NotFound)?.try_clone_to_owned()?;
        let file = File::from(edition);

        assert!(
            file.write_all_at(b"lost", 0).is_err() && file.set_len(0).is_err() && file.set_len(9).is_err()
        );
        assert_eq!("kept", text(&editions, 1)?);
        Ok(())
    }

    #[test]
    fn nothing_to_hand() -> io::Result<()> {
        let mut editions = Editions::new(None)?;

        assert!(editions.of(1).is_none() && matches!(editions.read(), Ok(None)));
        assert_eq!(None, handed(&["prototype".to_owned(), "3".to_owned(), "serve".to_owned()])?);
        assert_eq!(None, handed(&["serve".to_owned(), "3,4".to_owned()])?);
        Ok(())
    }
}
