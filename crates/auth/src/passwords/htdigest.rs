//! Files of users and their hashes for Digest, in the format of `htdigest`.

use std::collections::HashMap;
use std::fmt;

use crate::digest::algorithm::Algorithm;
use crate::passwords::wrong::{Wrong, each_line, user_name};
use crate::realm::Realm;

/// Users with their hashes for Digest. With these hashes one can authenticate as these users in their realm, without
/// knowing the passwords: such a file must be kept as secret as the passwords.
#[derive(Clone, Default)]
pub struct DigestPasswords {
    /// Hashes by `user:realm`. The first colon separates the two, because user names hold no colons.
    users: HashMap<Box<[u8]>, Hashes>,
}

/// The hashes of a user in a realm, by algorithm.
type Hashes = [Option<Hash>; Algorithm::ALL.len()];

#[derive(Clone)]
struct Hash {
    /// `H(user ":" realm ":" password)` in hexadecimal with small letters; further hashes are made of this text.
    hex: Box<[u8]>,
    /// The line in which the hash stands.
    line: usize,
}

impl DigestPasswords {
    /// Reads lines of the form `user:realm:hash`, in which a hash of 32 digits is MD5, and one of 64 is SHA-256;
    /// comments begin with `#`. A user may have a line for each algorithm and realm.
    ///
    /// # Errors
    ///
    /// The mistakes in the text, the first twenty at most.
    pub fn read(text: &str) -> Result<DigestPasswords, Vec<Wrong>> {
        let mut passwords = DigestPasswords::default();
        each_line(text, |line, words| passwords.add(line, words))?;
        Ok(passwords)
    }

    /// Makes the passwords of a single user, whose hash is given in hexadecimal.
    ///
    /// # Errors
    ///
    /// The reason why a line of a file could not hold this user.
    pub fn of_one(user: &str, realm: &str, hash: &str) -> Result<DigestPasswords, String> {
        if user.contains(':') {
            return Err("a name has no colon".to_owned());
        }
        let mut passwords = DigestPasswords::default();
        passwords.add(1, &format!("{user}:{realm}:{hash}"))?;
        Ok(passwords)
    }

    fn add(&mut self, line: usize, words: &str) -> Result<(), String> {
        let (place, hex) = words.rsplit_once(':').ok_or(FORM)?;
        let (name, realm) = place.split_once(':').ok_or(FORM)?;
        user_name(name)?;
        Realm::new(realm).map_err(|error| error.to_string())?;
        let is_hex = hex.bytes().all(|byte| byte.is_ascii_hexdigit());
        let algorithm = Algorithm::ALL.into_iter().find(|algorithm| algorithm.hex_digits() == hex.len());
        let algorithm = algorithm.filter(|_| is_hex).ok_or("the hash has 32 or 64 hexadecimal digits")?;
        let hash = &mut self.users.entry(place.as_bytes().into()).or_default()[algorithm as usize];
        if let Some(before) = hash {
            return Err(format!("the user {name} is already in line {}", before.line));
        }
        *hash = Some(Hash { hex: hex.to_ascii_lowercase().into_bytes().into(), line });
        Ok(())
    }

    /// The algorithms to offer in this realm, the best first: the algorithms for which all users of the realm have a
    /// hash. If there is no such algorithm, the algorithms for which some users have a hash; then a user without a hash
    /// for the algorithm that the client chooses cannot log in.
    pub fn algorithms(&self, realm: &Realm) -> Vec<Algorithm> {
        let is_here = |place: &[u8]| {
            let colon = place.iter().position(|&byte| byte == b':');
            colon.is_some_and(|at| place[at + 1..] == *realm.as_str().as_bytes())
        };
        let users: Vec<_> =
            self.users.iter().filter(|(place, _)| is_here(place)).map(|(_, hashes)| hashes).collect();
        let has = |algorithm: Algorithm| move |hashes: &&Hashes| hashes[algorithm as usize].is_some();
        let (mut all, mut some) = (Algorithm::ALL.to_vec(), Algorithm::ALL.to_vec());
        all.retain(|&algorithm| users.iter().all(has(algorithm)) && !users.is_empty());
        some.retain(|&algorithm| users.iter().any(has(algorithm)));
        if all.is_empty() { some } else { all }
    }

    /// The realms in which users have a password, in alphabetical order.
    pub fn realms(&self) -> Vec<String> {
        let realm = |place: &[u8]| {
            let colon = place.iter().position(|&byte| byte == b':')?;
            Some(String::from_utf8_lossy(&place[colon + 1..]).into_owned())
        };
        let mut realms: Vec<String> = self.users.keys().filter_map(|place| realm(place)).collect();
        realms.sort();
        realms.dedup();
        realms
    }

    /// Whether a user has a password in a realm.
    pub fn has(&self, user: &str, realm: &Realm) -> bool {
        Algorithm::ALL.into_iter().any(|algorithm| self.hash_of(user.as_bytes(), realm, algorithm).is_some())
    }

    /// Users who lack a hash for an algorithm that is offered in this realm: they cannot log in with a client that
    /// chooses this algorithm. Each comes with the algorithm and the line of the user's other hash, in the order of the
    /// file.
    pub fn lacking(&self, realm: &Realm) -> Vec<(String, Algorithm, usize)> {
        let offered = self.algorithms(realm);
        let end = format!(":{}", realm.as_str()).into_bytes();
        let mut lacking = Vec::new();
        for (place, hashes) in &self.users {
            // The first colon ends the name; the realm may also hold colons.
            let colon = place.iter().position(|&byte| byte == b':').unwrap_or_default();
            let line = hashes.iter().flatten().map(|hash| hash.line).min();
            let (Some(line), true) = (line, place[colon..] == *end) else { continue };
            let user = String::from_utf8_lossy(&place[..colon]).into_owned();
            let missing = offered.iter().filter(|algorithm| hashes[**algorithm as usize].is_none());
            lacking.extend(missing.map(|algorithm| (user.clone(), *algorithm, line)));
        }
        lacking.sort_by_key(|&(_, _, line)| line);
        lacking
    }

    /// `H(user ":" realm ":" password)` in hexadecimal.
    pub(crate) fn hash_of(&self, user: &[u8], realm: &Realm, algorithm: Algorithm) -> Option<&[u8]> {
        if user.contains(&b':') {
            return None;
        }
        let place = [user, realm.as_str().as_bytes()].join(&b':');
        let hash = self.users.get(&*place)?[algorithm as usize].as_ref()?;
        Some(&hash.hex)
    }
}

const FORM: &str = "write user:realm:hash, as htdigest does";

impl fmt::Debug for DigestPasswords {
    /// Shows only the number of users: hashes must not get into a log.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("DigestPasswords").field("users", &self.users.len()).finish_non_exhaustive()
    }
}

#[cfg(test)]
mod tests {
    use super::{Algorithm, DigestPasswords};
    use crate::Realm;

    const MD5: &str = "3d78807defe7de2157e2b0b6573a855f";
    const SHA256: &str = "7987c64c30e25f1b74be53f966b49b90f2808aa92faf9a00262392d7b4794232";

    fn realm(text: &str) -> Realm {
        Realm::new(text).unwrap_or_else(|error| unreachable!("{error}"))
    }

    #[test]
    fn users() {
        let text = format!(
            "# Users.\nann:here:{MD5}\nann:here:{SHA256}\r\nann:here: there:{}\n",
            MD5.to_ascii_uppercase()
        );
        let passwords = DigestPasswords::read(&text).unwrap_or_default();
        for (user, place, algorithm, expected) in [
            ("ann", "here", Algorithm::Md5, Some(MD5)),
            ("ann", "here", Algorithm::Sha256, Some(SHA256)),
            ("ann", "here: there", Algorithm::Md5, Some(MD5)),
            ("ann", "here: there", Algorithm::Sha256, None),
            ("ann:here", " there", Algorithm::Md5, None),
            ("bob", "here", Algorithm::Md5, None),
            ("ann", "there", Algorithm::Md5, None),
        ] {
            let found = passwords.hash_of(user.as_bytes(), &realm(place), algorithm);

            assert_eq!(expected.map(str::as_bytes), found, "{user} {place}");
        }
        assert_eq!("DigestPasswords { users: 2, .. }", format!("{passwords:?}"));
    }

    #[test]
    fn what_is_offered() {
        let (md5, sha256) = (Algorithm::Md5, Algorithm::Sha256);
        for (lines, expected) in [
            (vec![("ann", MD5)], vec![md5]),
            (vec![("ann", SHA256)], vec![sha256]),
            (vec![("ann", MD5), ("ann", SHA256)], vec![sha256, md5]),
            (vec![("ann", MD5), ("ann", SHA256), ("bob", MD5)], vec![md5]),
            (vec![("ann", MD5), ("bob", SHA256)], vec![sha256, md5]),
            (vec![], vec![]),
        ] {
            let lines: Vec<_> = lines.iter().map(|(user, hash)| format!("{user}:here:{hash}\n")).collect();
            let text = lines.concat();
            let passwords = DigestPasswords::read(&format!("eve:there:{SHA256}\n{text}")).unwrap_or_default();

            assert_eq!(expected, passwords.algorithms(&realm("here")), "{text}");
        }
    }

    #[test]
    fn who_cannot_come_in() {
        let (md5, sha256) = (Algorithm::Md5, Algorithm::Sha256);
        let of = |lines: &[(&str, &str)]| {
            let lines: Vec<_> = lines.iter().map(|(place, hash)| format!("{place}:{hash}\n")).collect();
            DigestPasswords::read(&lines.concat()).unwrap_or_default()
        };
        for (lines, expected) in [
            (&[("ann:here", MD5), ("ann:here", SHA256), ("bob:here", MD5)][..], vec![]),
            (&[("ann:there", MD5), ("bob:here", SHA256)], vec![]),
            (
                &[("ann:here", MD5), ("bob:here", SHA256), ("carl:here", MD5)],
                vec![("ann", sha256, 1), ("bob", md5, 2), ("carl", sha256, 3)],
            ),
        ] {
            let expected: Vec<_> = expected
                .into_iter()
                .map(|(user, algorithm, line)| (user.to_owned(), algorithm, line))
                .collect();

            assert_eq!(expected, of(lines).lacking(&realm("here")), "{lines:?}");
        }
        let passwords = of(&[("ann:here", MD5), ("bob:a: b", MD5), ("ann:a: b", SHA256)]);

        assert_eq!(vec!["a: b", "here"], passwords.realms());
        assert!(passwords.has("bob", &realm("a: b")) && !passwords.has("bob", &realm("here")));
    }

    #[test]
    fn what_is_wrong_is_said() {
        let line = format!("ann:here:{MD5}\n");
        for (text, sentence) in [
            ("ann".to_owned(), "line 1: write user:realm:hash, as htdigest does"),
            (format!("ann:{MD5}"), "line 1: write user:realm:hash, as htdigest does"),
            (format!(":here:{MD5}"), "line 1: the name of the user is missing"),
            (format!("ann:he\0re:{MD5}"), "line 1: a realm is one line, without control characters"),
            (format!("{line}ann:here:{MD5}0"), "line 2: the hash has 32 or 64 hexadecimal digits"),
            ("ann:here:".to_owned(), "line 1: the hash has 32 or 64 hexadecimal digits"),
            (format!("ann:here:{}g", &MD5[1..]), "line 1: the hash has 32 or 64 hexadecimal digits"),
            (format!("{line}\n{line}"), "line 3: the user ann is already in line 1"),
        ] {
            let wrongs = DigestPasswords::read(&text).err().unwrap_or_default();
            let said: Vec<_> = wrongs.iter().map(ToString::to_string).collect();

            assert_eq!(vec![sentence], said, "{text}");
        }
    }
}
