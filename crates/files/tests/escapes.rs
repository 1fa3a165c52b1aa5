//! Only regular files beneath the root are ever served: rules 43 and 44.

#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic, reason = "a test fails by panicking")]

mod support;

use std::fs;
use std::os::unix::fs::{PermissionsExt, symlink};
use std::os::unix::net::UnixListener;

use support::{TempFolder, make_fifo};

/// Makes a folder with links of all kinds, and a secret beside the folder.
fn folder_with_links() -> TempFolder {
    let folder = TempFolder::with(&[("real/a.txt", "inside"), ("index.html", "top")]);
    let secret = folder.outside().join("secret.txt");
    fs::write(&secret, "secret").unwrap();
    fs::create_dir(folder.outside().join("beside")).unwrap();
    fs::write(folder.outside().join("beside/a.txt"), "secret").unwrap();
    symlink("real/a.txt", folder.path("inside.txt")).unwrap();
    symlink("real", folder.path("inside")).unwrap();
    symlink("../secret.txt", folder.path("relative.txt")).unwrap();
    symlink(&secret, folder.path("absolute.txt")).unwrap();
    symlink("../beside", folder.path("beside")).unwrap();
    symlink("..", folder.path("up")).unwrap();
    symlink("loop", folder.path("loop")).unwrap();
    symlink("nowhere", folder.path("dangling")).unwrap();
    symlink("/dev/zero", folder.path("zero")).unwrap();
    symlink("/proc/self/root/etc/passwd", folder.path("magic")).unwrap();
    folder
}

const ESCAPES: [&str; 10] = [
    "/relative.txt",
    "/absolute.txt",
    "/beside/a.txt",
    "/up/secret.txt",
    "/up/site/real/a.txt",
    "/loop",
    "/dangling",
    "/zero",
    "/magic",
    "/inside/../../secret.txt",
];

#[test]
fn links_are_refused_unless_they_are_followed() {
    let folder = folder_with_links();
    let mut client = folder.client();
    for path in ESCAPES.into_iter().chain(["/inside.txt", "/inside/a.txt", "/inside", "/up", "/beside/"]) {
        let status = client.get(path).status;

        assert!(matches!(status, 404 | 400), "{path}: {status}");
    }
    assert_eq!((200, "inside"), client.get("/real/a.txt").brief());
}

#[test]
fn links_that_are_followed_stay_beneath_the_root() {
    let folder = folder_with_links();
    let mut client = folder.client_with(|options| (options.follow_symlinks, options.listing) = (true, true));
    for round in ["cold", "warm"] {
        for path in ESCAPES {
            let reply = client.get(path);

            assert!(matches!(reply.status, 404 | 400), "{round} {path}: {}", reply.text());
        }
        assert_eq!((200, "inside"), client.get("/inside.txt").brief());
        assert_eq!((200, "inside"), client.get("/inside/a.txt").brief());
        assert_eq!(Some("/inside/"), client.get("/inside").field("location"));
        client.warm("/inside.txt");
    }
    let mut client = folder.client_with(|options| {
        (options.follow_symlinks, options.listing, options.index) = (true, true, String::new());
    });
    let listing = client.get("/");
    let shown = |name: &str| listing.text().contains(&format!("\"./{name}\""));

    assert!(shown("inside/") && shown("inside.txt") && shown("real/"), "{}", listing.text());
    for name in ["relative.txt", "absolute.txt", "beside/", "up/", "loop", "dangling", "zero", "magic"] {
        assert!(!shown(name), "{name}: {}", listing.text());
    }
}

#[test]
fn a_link_that_turns_outside_is_noticed() {
    let folder = folder_with_links();
    let mut client = folder.client_with(|options| options.follow_symlinks = true);
    client.warm("/inside.txt");
    fs::remove_file(folder.path("inside.txt")).unwrap();
    symlink("../secret.txt", folder.path("inside.txt")).unwrap();

    assert_eq!(404, client.get("/inside.txt").status);
    client.warm("/inside/a.txt");
    fs::remove_file(folder.path("inside")).unwrap();
    symlink("../beside", folder.path("inside")).unwrap();

    assert_eq!(404, client.get("/inside/a.txt").status, "a link in the middle of the path is refused");
}

#[test]
fn a_fifo_a_socket_and_a_device_are_not_served_and_do_not_hang() {
    let folder = TempFolder::with(&[]);
    make_fifo(&folder.path("fifo"));
    let _listener = UnixListener::bind(folder.path("socket")).unwrap();
    let mut client = folder.client_with(|options| (options.follow_symlinks, options.listing) = (true, true));
    for path in ["/fifo", "/socket", "/fifo/", "/socket/x"] {
        assert_eq!(404, client.get(path).status, "{path}");
    }
    let listing = client.get("/");

    assert!(!listing.text().contains("fifo") && !listing.text().contains("socket"), "{}", listing.text());
    // A FIFO is not sent as an index either: the listing is sent instead.
    let mut client = folder.client_with(|options| (options.index, options.listing) = ("fifo".into(), true));
    assert_eq!(200, client.get("/").status);
}

#[test]
fn what_may_not_be_read_is_403() {
    let folder = TempFolder::with(&[("a.txt", "a")]);
    fs::set_permissions(folder.path("a.txt"), fs::Permissions::from_mode(0o000)).unwrap();
    let mut client = folder.client();
    // Root may read every file, so the expected status depends on the user.
    let expected = if fs::read(folder.path("a.txt")).is_ok() { 200 } else { 403 };

    assert_eq!(expected, client.get("/a.txt").status);
}
