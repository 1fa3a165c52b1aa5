//! A process that has run out of descriptors still serves files.
//!
//! The test has a file of its own, because the limit of descriptors belongs to the whole process.

#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic, reason = "a test fails by panicking")]

mod support;

use std::fs::File;

use rustix::process::{Resource, getrlimit, setrlimit};
use support::TempFolder;

/// Opens files until no descriptor is left.
fn use_up_descriptors() -> Vec<File> {
    std::iter::from_fn(|| File::open("/dev/null").ok()).collect()
}

#[test]
fn files_kept_open_make_room_when_descriptors_run_out() {
    let folder = TempFolder::with(&[("a.txt", "a"), ("b.txt", "b"), ("c.bin", &"c".repeat(70_000))]);
    let mut client = folder.client();
    client.warm("/c.bin");
    let limit = getrlimit(Resource::Nofile);
    setrlimit(Resource::Nofile, rustix::process::Rlimit { current: Some(64), ..limit }).unwrap();
    let held = use_up_descriptors();

    assert_eq!((200, "a"), client.get("/a.txt").brief());
    assert_eq!(0, client.site.counts().open_files, "the cached file was closed to free a descriptor");
    let more = use_up_descriptors();
    assert!(!more.is_empty(), "a.txt was closed after its answer");
    assert_eq!(503, client.get("/b.txt").status, "no cached file is left to close");
    drop((held, more));

    assert_eq!((200, "b"), client.get("/b.txt").brief());
    assert_eq!(70_000, client.get("/c.bin").body.len());
}
