//! Invariants of reading any text as `Authorization`, or as a file of users: a reference implementation makes the
//! text of `Authorization` again from the name and password that were read, and the two texts must be equal.

use adyton_auth::{
    Asked, Checked, Digest, DigestLimits, DigestPasswords, DigestRequest, Groups, Passwords, Realm, Wrong,
    read_basic,
};

/// Panics unless a value is refused, or equals the encoding of its name and password. Panics, too, if Digest
/// lets it in.
pub(crate) fn check(value: &[u8]) {
    if let Ok(credentials) = read_basic(value) {
        let text = [&credentials.user[..], &credentials.password].join(&b':');
        assert!(!credentials.user.contains(&b':') && !text.iter().any(u8::is_ascii_control), "not a name");
        let token = value[b"Basic ".len()..].trim_ascii_start();
        assert_eq!(crate::show(&base64(&text)), crate::show(token), "other credentials");
    }
    let realm = Realm::new("r").expect("a realm");
    let file = format!("u:r:{}\nu:r:{}", "0".repeat(32), "0".repeat(64));
    let passwords = DigestPasswords::read(&file).expect("a file");
    let mut digest = Digest::new(realm, [0; 32], DigestLimits::default());
    digest.challenges(&[], Asked::First, 0);
    let request = DigestRequest { method: b"GET", target: b"/", authorization: value };
    assert!(matches!(digest.check(&passwords, request, 0), Checked::Bad(_)), "nobody gets in");
}

/// Panics unless a text is refused with sentences that name its lines, or is read as a file of users or groups.
pub(crate) fn check_files(text: &str) {
    if let Ok(passwords) = Passwords::read(text) {
        assert!(passwords.weak().len() <= passwords.len() && passwords.len() <= text.lines().count());
    }
    for wrongs in [Passwords::read(text).err(), DigestPasswords::read(text).err(), Groups::read(text).err()] {
        check_wrongs(text, &wrongs.unwrap_or_default());
    }
}

fn check_wrongs(text: &str, wrongs: &[Wrong]) {
    assert!(wrongs.is_sorted_by_key(|wrong| wrong.line), "lines in another order");
    for wrong in wrongs {
        assert!((1..=text.lines().count()).contains(&wrong.line) && !wrong.what.is_empty(), "{wrong}");
        assert!(!wrong.what.contains(char::is_control), "{wrong:?}");
    }
}

/// Encodes in base64 (RFC 4648 section 4) bit by bit.
fn base64(bytes: &[u8]) -> Vec<u8> {
    const LETTERS: &[u8] = b"ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";
    let bits: Vec<u8> = bytes.iter().flat_map(|byte| (0..8).rev().map(move |at| byte >> at & 1)).collect();
    let value = |six: &[u8]| (0..6).fold(0, |value, at| value << 1 | six.get(at).copied().unwrap_or(0));
    let mut text: Vec<u8> = bits.chunks(6).map(|six| LETTERS[usize::from(value(six))]).collect();
    text.resize(bytes.len().div_ceil(3) * 4, b'=');
    text
}
