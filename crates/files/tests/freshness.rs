//! The cache never sends stale content, and never grows beyond its limits.

#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic, reason = "a test fails by panicking")]

mod support;

use std::fs::{self, File};
use std::io::Write;
use std::os::unix::fs::symlink;
use std::sync::Arc;

use adyton_files::CacheRoom;

use support::{Random, TempFolder};

/// A way to change `a.txt`, which holds `one`.
type Change = fn(&TempFolder);

const CHANGES: [(&str, Change, (u16, &str)); 9] = [
    ("other content of the same length", |folder| folder.write("a.txt", "two"), (200, "two")),
    (
        "the same length and mtime",
        |folder| {
            folder.write("a.txt", "six");
            folder.set_modified("a.txt", 1_000_000_000, 0);
        },
        (200, "six"),
    ),
    (
        "another nanosecond",
        |folder| {
            let mut file = File::options().write(true).open(folder.path("a.txt")).unwrap();
            file.write_all(b"ten").unwrap();
            folder.set_modified("a.txt", 1_000_000_000, 1);
        },
        (200, "ten"),
    ),
    (
        "appended",
        |folder| {
            let mut file = File::options().append(true).open(folder.path("a.txt")).unwrap();
            file.write_all(b"!").unwrap();
        },
        (200, "one!"),
    ),
    (
        "truncated",
        |folder| {
            File::options().write(true).open(folder.path("a.txt")).unwrap().set_len(1).unwrap();
        },
        (200, "o"),
    ),
    (
        "replaced by a rename, with the same length and mtime",
        |folder| {
            folder.write("b.txt", "new");
            folder.set_modified("b.txt", 1_000_000_000, 0);
            fs::rename(folder.path("b.txt"), folder.path("a.txt")).unwrap();
        },
        (200, "new"),
    ),
    ("removed", |folder| fs::remove_file(folder.path("a.txt")).unwrap(), (404, "")),
    (
        "turned into a folder",
        |folder| {
            fs::remove_file(folder.path("a.txt")).unwrap();
            fs::create_dir(folder.path("a.txt")).unwrap();
        },
        (404, ""),
    ),
    (
        "turned into a link to itself",
        |folder| {
            fs::rename(folder.path("a.txt"), folder.path("b.txt")).unwrap();
            symlink("b.txt", folder.path("a.txt")).unwrap();
        },
        (404, ""),
    ),
];

#[test]
fn a_change_shows_in_the_next_answer() {
    for precompressed in [false, true] {
        for (name, change, (status, body)) in CHANGES {
            let folder = TempFolder::with(&[("a.txt", "one")]);
            folder.set_modified("a.txt", 1_000_000_000, 0);
            let mut client = folder.client_with(|options| options.precompressed = precompressed);
            client.warm("/a.txt");
            assert_eq!((200, "one"), client.get("/a.txt").brief(), "{name}");
            change(&folder);
            let reply = client.get("/a.txt");

            assert_eq!(status, reply.status, "{name}");
            assert!(status != 200 || reply.body == body.as_bytes(), "{name}: {}", reply.text());
        }
    }
}

#[test]
fn a_long_file_that_changed_is_opened_again() {
    let folder = TempFolder::with(&[("a.bin", &"x".repeat(100_000))]);
    let mut client = folder.client();
    client.warm("/a.bin");
    let loads = client.site.counts().loads;
    let warm = client.get("/a.bin");

    assert!(warm.has_parts);
    assert_eq!((loads, 1), (client.site.counts().loads, client.site.counts().open_files));
    folder.write("b.bin", "y".repeat(100_000));
    fs::rename(folder.path("b.bin"), folder.path("a.bin")).unwrap();
    let reply = client.get("/a.bin");

    assert_eq!("y".repeat(100_000), reply.text());
    assert_ne!(warm.field("etag"), reply.field("etag"));
}

#[test]
fn a_file_is_not_kept_before_the_clock_can_tell_a_change() {
    let folder = TempFolder::with(&[("a.txt", "0")]);
    let mut client = folder.client();
    for n in 0..2000 {
        let content = (n % 10).to_string();
        folder.write("a.txt", &content);

        assert_eq!((200, content.as_str()), client.get("/a.txt").brief(), "change {n}");
    }
}

#[test]
fn requests_that_arrive_together_share_one_look() {
    let folder = TempFolder::with(&[("a.txt", "one")]);
    let mut client = folder.client();
    client.warm("/a.txt");
    client.arrive_together = true;
    folder.write("a.txt", "two");

    assert_eq!(
        (200, "one"),
        client.get("/a.txt").brief(),
        "the check of the request before counts for this one, too"
    );
    client.arrive_together = false;
    assert_eq!((200, "two"), client.get("/a.txt").brief());
}

#[test]
fn the_date_is_the_one_of_the_answer() {
    let folder = TempFolder::with(&[("a.txt", "one")]);
    let mut client = folder.client();
    client.warm("/a.txt");
    for _ in 0..3 {
        client.pass_seconds(61);
        let hits = client.site.counts().hits;

        assert_eq!((200, "one"), client.get("/a.txt").brief(), "`Reply::check` compares the date");
        assert_eq!(hits + 1, client.site.counts().hits);
    }
}

#[test]
fn neighbours_that_come_change_and_go_are_noticed() {
    let folder = TempFolder::with(&[("a.txt", "plain")]);
    let mut client = folder.client();
    let line = "Accept-Encoding: gzip";
    let brief = |client: &mut support::Client| client.get_with("/a.txt", line).text().to_owned();
    client.warm("/a.txt");
    assert_eq!("plain", brief(&mut client));

    folder.write("a.txt.gz", "zip1");
    client.pass_seconds(1);
    assert_eq!("zip1", brief(&mut client), "a new neighbour is noticed when the second changes");
    client.warm("/a.txt");
    assert_eq!("zip1", brief(&mut client));
    folder.write("a.txt.gz", "zip2");
    assert_eq!("zip2", brief(&mut client), "a changed neighbour is noticed at once, because it is sent");
    client.warm("/a.txt");
    folder.write("a.txt", "newer");
    folder.set_modified("a.txt", 4_000_000_000, 0);
    assert_eq!("newer", brief(&mut client), "a neighbour older than the file is noticed at once");

    folder.set_modified("a.txt", 1_000_000_000, 0);
    client.warm("/a.txt");
    assert_eq!("zip2", brief(&mut client));
    fs::remove_file(folder.path("a.txt.gz")).unwrap();
    assert_eq!("newer", brief(&mut client), "a removed neighbour is noticed at once");
    client.pass_seconds(1);
    assert_eq!(None, client.get("/a.txt").field("vary"));
}

#[test]
fn conditions_and_ranges_see_a_changed_neighbour_too() {
    let folder = TempFolder::with(&[("a.txt", "plain"), ("a.txt.gz", "zip1")]);
    let mut client = folder.client();
    client.warm("/a.txt");
    let etag = client.get_with("/a.txt", "Accept-Encoding: gzip").field("etag").unwrap().to_owned();
    let line = format!("Accept-Encoding: gzip\r\nIf-None-Match: {etag}");
    assert_eq!(304, client.get_with("/a.txt", &line).status);
    folder.write("a.txt.gz", "zip2");
    let part = client.get_with("/a.txt", "Accept-Encoding: gzip\r\nRange: bytes=3-");

    assert_eq!((206, "2"), part.brief());
    assert_eq!((200, "zip2"), client.get_with("/a.txt", &line).brief());
}

#[test]
fn a_form_that_is_refused_does_not_drive_the_file_out() {
    let folder = TempFolder::with(&[("a.txt", "plain"), ("a.txt.gz", "zip")]);
    let mut client = folder.client();
    client.warm("/a.txt");
    let loads = client.site.counts().loads;
    for _ in 0..3 {
        assert_eq!(406, client.get_with("/a.txt", "Accept-Encoding: identity;q=0").status);
        assert_eq!(200, client.get("/a.txt").status);
    }

    assert_eq!(loads, client.site.counts().loads);
}

#[test]
fn a_root_that_is_swapped_shows_in_the_next_answer() {
    for precompressed in [false, true] {
        let folder =
            TempFolder::with(&[("a.txt", "old"), ("gone.txt", "old"), ("large.bin", &"o".repeat(100_000))]);
        let new = folder.outside().join("new");
        fs::create_dir(&new).unwrap();
        for name in ["a.txt", "more.txt", "large.bin"] {
            fs::write(new.join(name), "new").unwrap();
        }
        let mut client = folder.client_with(|options| options.precompressed = precompressed);
        for path in ["/a.txt", "/gone.txt", "/large.bin"] {
            client.warm(path);
        }
        let loads = client.site.counts().loads;
        fs::rename(folder.root(), folder.outside().join("previous")).unwrap();

        for path in ["/a.txt", "/a.txt", "/gone.txt"] {
            assert_eq!(
                (200, "old"),
                client.get(path).brief(),
                "between two renames the old folder is still served"
            );
        }
        assert_eq!(loads, client.site.counts().loads, "between two renames the cache is still used");
        fs::rename(&new, folder.root()).unwrap();

        for path in ["/a.txt", "/more.txt", "/large.bin"] {
            assert_eq!((200, "new"), client.get(path).brief());
        }
        assert_eq!(404, client.get("/gone.txt").status);
    }
}

#[test]
fn a_link_to_the_root_that_is_switched_shows_in_the_next_answer() {
    let folder = TempFolder::with(&[("a.txt", "one"), ("only.txt", "one")]);
    let (link, second) = (folder.outside().join("current"), folder.outside().join("second"));
    fs::create_dir(&second).unwrap();
    fs::write(second.join("a.txt"), "two").unwrap();
    symlink(folder.root(), &link).unwrap();
    let mut client = folder.client_with(|options| options.root = link.clone());
    client.warm("/a.txt");
    client.warm("/only.txt");
    for _ in 0..2 {
        for (to, body, status) in [(&second, "two", 404), (&folder.root(), "one", 200)] {
            symlink(to, folder.outside().join("next")).unwrap();
            fs::rename(folder.outside().join("next"), &link).unwrap();

            assert_eq!(status, client.get("/only.txt").status);
            assert_eq!((200, body), client.get("/a.txt").brief());
        }
    }
}

#[test]
fn a_root_that_comes_later_is_served_at_once() {
    let folder = TempFolder::with(&[]);
    let root = folder.outside().join("far/away");
    let mut client = folder.client_with(|options| (options.root, options.listing) = (root.clone(), true));
    for _ in 0..2 {
        assert_eq!([404; 3], ["/", "/a.txt", "/x/"].map(|path| client.get(path).status));
    }
    fs::create_dir_all(&root).unwrap();
    assert_eq!(200, client.get("/").status);
    fs::write(root.join("a.txt"), "a").unwrap();

    assert_eq!((200, "a"), client.get("/a.txt").brief());
    client.warm("/a.txt");
}

#[test]
fn the_cache_keeps_within_its_bytes() {
    let folder = TempFolder::with(&[]);
    for n in 0..200 {
        folder.write(&format!("{n}.txt"), n.to_string().repeat(1000));
    }
    let mut client = folder.client_with(|options| options.cache_room = CacheRoom::new(100_000));
    client.warm("/0.txt");
    client.warm("/199.txt");
    let mut random = Random(5);
    for _ in 0..3000 {
        let n = if random.below(2) == 0 { 7 } else { random.below(200) };
        let reply = client.get(&format!("/{n}.txt"));
        let counts = client.site.counts();

        assert_eq!((200, n.to_string().repeat(1000)), (reply.status, reply.text().to_owned()));
        assert!(counts.bytes <= 100_000 && counts.entries < 100, "{counts:?}");
    }
    let counts = client.site.counts();
    assert!(counts.evictions > 500, "{counts:?}");
    client.get("/7.txt");
    for n in 100..200 {
        client.get(&format!("/{n}.txt"));
        let loads = client.site.counts().loads;
        client.get("/7.txt");

        assert_eq!(
            loads,
            client.site.counts().loads,
            "files that are read often survive files that are read once"
        );
    }
}

/// Folders share the memory. One folder alone takes all of it, and gives an equal part to another folder that wants
/// memory.
#[test]
fn folders_share_the_memory() {
    let folder = TempFolder::with(&[]);
    for n in 0..200 {
        folder.write(&format!("{n}.txt"), n.to_string().repeat(1000));
    }
    let room = CacheRoom::new(100_000);
    let mut one = folder.client_with(|options| options.cache_room = Arc::clone(&room));
    one.warm("/0.txt");
    one.warm("/199.txt");
    for n in 0..200 {
        one.get(&format!("/{n}.txt"));
    }
    let bytes = one.site.counts().bytes;
    assert!((90_000..=100_000).contains(&bytes), "{bytes}");

    let mut other = folder.client_with(|options| options.cache_room = Arc::clone(&room));
    for _ in 0..20 {
        for n in 0..200 {
            assert_eq!(200, other.get(&format!("/{n}.txt")).status);
            assert!(one.site.counts().bytes + other.site.counts().bytes <= 100_000);
        }
        one.site.give_way();
        other.site.give_way();
    }

    let (ones, others) = (one.site.counts().bytes, other.site.counts().bytes);
    assert!(ones.abs_diff(50_000) < 5_000 && others.abs_diff(50_000) < 5_000, "{ones} {others}");

    drop(one);
    for n in 0..200 {
        other.get(&format!("/{n}.txt"));
    }
    assert!(other.site.counts().bytes > 90_000, "a folder that is no longer served leaves its part");
}

#[test]
fn the_cache_keeps_few_files_open() {
    let folder = TempFolder::with(&[]);
    for n in 0..20 {
        folder.write(&format!("{n}.bin"), "x".repeat(70_000));
    }
    let mut client = folder.client_with(|options| options.open_files_max = 4);
    client.warm("/0.bin");
    // A file is cached only some time after its last change, and this file was changed last.
    client.warm("/19.bin");
    for n in (0..20).chain(0..20) {
        assert_eq!(200, client.get(&format!("/{n}.bin")).status);
        assert!(client.site.counts().open_files <= 4, "{:?}", client.site.counts());
    }
    assert_eq!(4, client.site.counts().open_files);
}

#[test]
fn without_a_cache_everything_still_works() {
    let folder = TempFolder::with(&[("a.txt", "a"), ("b.bin", &"b".repeat(70_000))]);
    let mut client = folder.client_with(|options| options.cache_room = CacheRoom::new(0));
    for _ in 0..50 {
        assert_eq!((200, "a"), client.get("/a.txt").brief());
        assert_eq!(70_000, client.get("/b.bin").body.len());
    }
    let counts = client.site.counts();

    assert_eq!((0, 0, 0), (counts.hits, counts.entries, counts.open_files));
}
