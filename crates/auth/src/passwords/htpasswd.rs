//! Files of users and the hashes of their passwords, in the format of `htpasswd`.

use std::collections::HashMap;
use std::hint::black_box;

use crate::passwords::password::PasswordHash;
use crate::passwords::wrong::{Wrong, each_line, user_name};

/// Users, and the hashes of their passwords.
#[derive(Clone, Debug, Default)]
pub struct Passwords {
    users: HashMap<Box<[u8]>, User>,
    /// The hash that takes longest to verify: the password of an unknown user is verified against this hash.
    decoy: Option<PasswordHash>,
}

#[derive(Clone, Debug)]
struct User {
    hash: PasswordHash,
    /// The line in which the user stands.
    line: usize,
}

impl Passwords {
    /// Reads lines of the form `user:hash` or `user:hash:comment`; comments begin with `#`.
    ///
    /// # Errors
    ///
    /// The mistakes in the text, the first twenty at most.
    pub fn read(text: &str) -> Result<Passwords, Vec<Wrong>> {
        let mut users = HashMap::new();
        each_line(text, |line, words| add(&mut users, line, words))?;
        let costliest = users.values().max_by_key(|user| (user.hash.work(), user.line));
        let decoy = costliest.map(|user| user.hash.clone());
        Ok(Passwords { users, decoy })
    }

    /// Whether this is the password of this user.
    ///
    /// The check takes as long as the form of the user's hash needs, and for an unknown user as long as the costliest
    /// hash of the file. So if all hashes of a file have one form and cost, the time does not reveal which users are in
    /// the file.
    pub fn verify(&self, user: &[u8], password: &[u8]) -> bool {
        if let Some(user) = self.users.get(user) {
            return user.hash.verify(password);
        }
        black_box(self.decoy.as_ref().is_some_and(|decoy| decoy.verify(password)));
        false
    }

    /// The users whose hashes are weak (see [`PasswordHash::is_weak`]) and their lines, in the order of the file.
    pub fn weak(&self) -> Vec<(&[u8], usize)> {
        let weak = self.users.iter().filter(|(_, user)| user.hash.is_weak());
        let mut weak: Vec<_> = weak.map(|(name, user)| (&**name, user.line)).collect();
        weak.sort_by_key(|&(_, line)| line);
        weak
    }

    /// Whether there is such a user.
    pub fn has(&self, user: &str) -> bool {
        self.users.contains_key(user.as_bytes())
    }

    /// The number of users.
    pub fn len(&self) -> usize {
        self.users.len()
    }

    /// Whether there are no users.
    pub fn is_empty(&self) -> bool {
        self.users.is_empty()
    }
}

fn add(users: &mut HashMap<Box<[u8]>, User>, line: usize, words: &str) -> Result<(), String> {
    let (name, rest) = words.split_once(':').ok_or("write user:hash, as htpasswd -B does")?;
    let name = user_name(name)?;
    let hash = rest.split(':').next().unwrap_or_default();
    let hash = PasswordHash::read(hash).map_err(|error| error.to_string())?;
    if let Some(before) = users.get(name.as_bytes()) {
        return Err(format!("the user {name} is already in line {}", before.line));
    }
    users.insert(name.as_bytes().into(), User { hash, line });
    Ok(())
}

#[cfg(test)]
mod tests {
    use std::time::Instant;

    use super::Passwords;

    const FILE: &str = "# Who may come in.\n\
        ann:$2y$05$abcdefghijklmnopqrstuuWG29KuyeAicPCJODk1zjyGvyQUU2awu\n\
        \n\
        bob:{SHA}W6ph5Mm5Pz8GgiULbPgzG37mj9g=\r\n\
        Jörg M.:$apr1$saltsalt$yAAkm4libquA.ZWLHbSBq/:from the old server \n";

    #[test]
    fn users_and_passwords() {
        let passwords = Passwords::read(FILE).unwrap_or_default();

        assert_eq!(3, passwords.len());
        for (user, password, is_right) in [
            ("ann", "password", true),
            ("bob", "password", true),
            ("Jörg M.", "password", true),
            ("ann", "Password", false),
            ("ann", "", false),
            ("Ann", "password", false),
            ("ann ", "password", false),
            ("", "password", false),
            ("# Who may come in.", "", false),
            ("carl", "password", false),
        ] {
            assert_eq!(is_right, passwords.verify(user.as_bytes(), password.as_bytes()), "{user} {password}");
        }
        assert_eq!(vec![(&b"bob"[..], 4)], passwords.weak());
    }

    #[test]
    fn nobody() {
        let passwords = Passwords::read("# Nobody yet.\n").unwrap_or_default();

        assert!(passwords.is_empty() && passwords.weak().is_empty());
        assert!(!passwords.verify(b"ann", b"password") && !passwords.verify(b"", b""));
    }

    #[test]
    fn what_is_wrong_is_said() {
        let sha = "{SHA}W6ph5Mm5Pz8GgiULbPgzG37mj9g=";
        for (text, sentences) in [
            ("ann".to_owned(), &["line 1: write user:hash, as htpasswd -B does"][..]),
            (format!("\n:{sha}\n"), &["line 2: the name of the user is missing"]),
            (format!("a\tb:{sha}\n"), &["line 1: there is a control character in the name of the user"]),
            (format!("a:{sha}\nb:{sha}\na:{sha}\n"), &["line 3: the user a is already in line 1"]),
            (
                "a:secret\nb:abJnggxhB/yWI\nc:\n".to_owned(),
                &[
                    "line 1: this is no hash: passwords are not kept as plain text; make one with htpasswd -B",
                    "line 2: this is plain text or a DES hash, which protects no better; make one with htpasswd -B",
                    "line 3: this is no hash: passwords are not kept as plain text; make one with htpasswd -B",
                ],
            ),
        ] {
            let wrongs = Passwords::read(&text).err().unwrap_or_default();
            let said: Vec<_> = wrongs.iter().map(ToString::to_string).collect();

            assert_eq!(sentences, said, "{text}");
        }
    }

    #[test]
    fn an_unknown_user_takes_as_long_as_the_costliest() {
        let (_, dear) = FILE.split_once("ann:").unwrap_or_default();
        let dear = dear.lines().next().unwrap_or_default();
        let text = format!("ann:{dear}\nbob:{{SHA}}W6ph5Mm5Pz8GgiULbPgzG37mj9g=");
        let passwords = Passwords::read(&text).unwrap_or_default();
        let best_of_five = |user: &[u8]| {
            let times = (0..5).map(|_| {
                let start = Instant::now();
                assert!(!passwords.verify(user, b"wrong"));
                start.elapsed()
            });
            times.min().unwrap_or_default()
        };

        // Apart from noise, the two times are equal; verifying the cheap hash alone takes a thousandth of them.
        assert!(best_of_five(b"carl") * 20 > best_of_five(b"ann"));
    }

    #[test]
    fn hashes_are_not_shown() {
        let shown = format!("{:?}", Passwords::read(FILE));

        assert!(!shown.contains("W6ph") && !shown.contains("saltsalt"), "{shown}");
    }
}
