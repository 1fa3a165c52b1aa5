//! The Digest scheme (RFC 7616) with `qop=auth`: the client proves that it knows a password without sending it.

use std::fmt;

use subtle::ConstantTimeEq;

use crate::basic::of_scheme;
use crate::digest::algorithm::Algorithm;
use crate::digest::answer::{Answer, DigestError};
use crate::digest::nonces::Nonces;
use crate::digest::signing::Secret;
use crate::parameters::Parameters;
use crate::passwords::htdigest::DigestPasswords;
use crate::realm::{Realm, quote};

/// Challenges clients in one realm, and checks their answers.
pub struct Digest {
    realm: Realm,
    nonces: Nonces,
}

/// How long nonces are valid, and how many are remembered.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct DigestLimits {
    /// How long a nonce is accepted after it was made; see [`NONCE_MS`].
    pub nonce_ms: u64,
    /// The most nonces in use at a time; see [`NONCES_MAX`].
    pub nonces_max: usize,
}

/// Lifetime of a nonce: five minutes, as in Apache. Then the client must ask for a new nonce, which costs a round trip
/// but does not prompt the user.
pub const NONCE_MS: u64 = 5 * 60 * 1000;
/// The most nonces in use at a time, some 60 bytes each. When there are more, the oldest is forgotten, and no longer
/// accepted.
pub const NONCES_MAX: usize = 4096;

impl Default for DigestLimits {
    fn default() -> DigestLimits {
        DigestLimits { nonce_ms: NONCE_MS, nonces_max: NONCES_MAX }
    }
}

/// The parts of a request that Digest needs.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct DigestRequest<'a> {
    /// The method, as it was sent.
    pub method: &'a [u8],
    /// The target of the request line, as it was sent.
    pub target: &'a [u8],
    /// The value of `Authorization`, without blanks around it.
    pub authorization: &'a [u8],
}

/// The result of checking a request.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Checked {
    /// The request comes from this user. `info` is the value of `Authentication-Info` for the answer (RFC 7616 section
    /// 3.5), which proves to the client that the server knows the client's password, too; a server may leave the field
    /// out.
    Good {
        /// The name of the user.
        user: Vec<u8>,
        /// The value of `Authentication-Info`.
        info: Vec<u8>,
    },
    /// The password is right, but the nonce is too old, was used with this count before, or was not made by this
    /// server. The client is asked again with [`Asked::Stale`], and answers without prompting its user.
    Stale,
    /// The request comes from no known user.
    Bad(DigestError),
}

/// The reason why a client is asked to authenticate.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Asked {
    /// The client has not authenticated, or has failed to.
    First,
    /// The client's nonce is no longer accepted.
    Stale,
}

impl Digest {
    /// Makes a value that challenges clients in this realm. A nonce is accepted by every process with the same secret,
    /// but each process knows only the counts that it has seen itself. So each of several processes accepts the same
    /// request once.
    pub fn new(realm: Realm, secret: Secret, limits: DigestLimits) -> Digest {
        Digest { realm, nonces: Nonces::new(secret, limits.nonce_ms, limits.nonces_max) }
    }

    /// The values of `WWW-Authenticate`, a field for each algorithm: see [`DigestPasswords::algorithms`].
    ///
    /// `now_ms` comes from a clock that never goes back and that all processes with the same secret share.
    pub fn challenges(&mut self, algorithms: &[Algorithm], asked: Asked, now_ms: u64) -> Vec<Vec<u8>> {
        let nonce = self.nonces.make(&self.realm, now_ms);
        let stale = if asked == Asked::Stale { ", stale=true" } else { "" };
        let challenge = |algorithm: &Algorithm| {
            let mut value = b"Digest realm=".to_vec();
            quote(self.realm.as_str().as_bytes(), &mut value);
            let name = algorithm.name();
            let rest = format!(
                ", qop=\"auth\", algorithm={name}, nonce=\"{nonce}\", charset=UTF-8, userhash=false{stale}"
            );
            value.extend_from_slice(rest.as_bytes());
            value
        };
        algorithms.iter().map(challenge).collect()
    }

    /// Finds the user who sent a request.
    pub fn check(&mut self, passwords: &DigestPasswords, request: DigestRequest<'_>, now_ms: u64) -> Checked {
        let Digest { realm, nonces } = self;
        // A nonce takes up memory only if the client knows a password.
        checked(realm, passwords, request, |nonce, count| nonces.take(nonce, count, realm, now_ms))
    }

    /// Checks once more a request that [`Digest::check`] has just found good. Its count is no longer new, so the nonce
    /// and count are not checked again.
    pub fn check_again(&self, passwords: &DigestPasswords, request: DigestRequest<'_>) -> Checked {
        checked(&self.realm, passwords, request, |_, _| true)
    }
}

/// Finds the user who sent a request in this realm. `take` tells whether the nonce comes with its count for the first
/// time; it is called only if everything else is right.
fn checked(
    realm: &Realm,
    passwords: &DigestPasswords,
    request: DigestRequest<'_>,
    take: impl FnOnce(&[u8], u32) -> bool,
) -> Checked {
    let parameters = of_scheme(request.authorization, b"Digest").ok_or(DigestError::OtherScheme);
    let parameters = parameters.and_then(|rest| Parameters::read(rest).ok_or(DigestError::Malformed));
    let answer = match parameters.as_ref().map_err(|&error| error).and_then(Answer::of) {
        Ok(answer) => answer,
        Err(error) => return Checked::Bad(error),
    };
    if answer.realm != realm.as_str().as_bytes() {
        return Checked::Bad(DigestError::OtherRealm);
    } else if answer.uri != request.target {
        return Checked::Bad(DigestError::OtherTarget);
    }
    // For an unknown user, the proof is computed with [`NOBODY`], so that the check takes as long as for a known user.
    let known = passwords.hash_of(&answer.user, realm, answer.algorithm);
    let user_hash = known.unwrap_or(&NOBODY[..answer.algorithm.hex_digits()]);
    let is_right: bool = answer.proof(user_hash, request.method).as_bytes().ct_eq(answer.response).into();
    if !is_right || known.is_none() {
        return Checked::Bad(DigestError::Wrong);
    }
    if !take(answer.nonce, answer.count) {
        return Checked::Stale;
    }
    Checked::Good { info: answer.info(user_hash), user: answer.user.into_owned() }
}

impl fmt::Debug for Digest {
    /// Shows the realm but no secret.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Digest").field("realm", &self.realm).finish_non_exhaustive()
    }
}

/// The user name in a value of `Authorization` that has all parameters of Digest. Whether the client really is this
/// user is not checked.
pub fn digest_user(authorization: &[u8]) -> Option<Vec<u8>> {
    let parameters = Parameters::read(of_scheme(authorization, b"Digest")?)?;
    Some(Answer::of(&parameters).ok()?.user.into_owned())
}

/// Replaces the hash of a user who does not exist. No user is accepted by this hash.
const NOBODY: [u8; 64] = [b'0'; 64];

#[cfg(test)]
mod tests {
    use super::{Algorithm, Answer, Asked, Checked, Digest, DigestError, DigestLimits, DigestRequest};
    use crate::parameters::Parameters;
    use crate::{DigestPasswords, Realm};

    /// The user of RFC 7616 section 3.9.1, and a user of another name.
    const FILE: &str = "Mufasa:http-auth@example.org:3d78807defe7de2157e2b0b6573a855f\n\
        Mufasa:http-auth@example.org:7987c64c30e25f1b74be53f966b49b90f2808aa92faf9a00262392d7b4794232\n\
        Jäsøn:http-auth@example.org:3d78807defe7de2157e2b0b6573a855f\n";

    const RFC_MD5: &str = r#"Digest username="Mufasa", realm="http-auth@example.org", uri="/dir/index.html",
        algorithm=MD5, nonce="7ypf/xlj9XXwfDPEoM4URrv/xwf94BcCAzFZH4GiTo0v", nc=00000001,
        cnonce="f2/wE4q74E6zIJEtWaHKaf5wv/H5QzzpXusqGemxURZJ", qop=auth,
        response="8ca523f5e9506fed4657c9700eebdbec", opaque="FQhe/qaU925kfnzjCev0ciny7QMkPqMAFRtzCUYo5tdS""#;

    const RFC_SHA256: &str = r#"Digest username="Mufasa", realm="http-auth@example.org", uri="/dir/index.html",
        algorithm=SHA-256, nonce="7ypf/xlj9XXwfDPEoM4URrv/xwf94BcCAzFZH4GiTo0v", nc=00000001,
        cnonce="f2/wE4q74E6zIJEtWaHKaf5wv/H5QzzpXusqGemxURZJ", qop=auth,
        response="753927fa0e85d155564e2e272a28d1802ca10daf4496794697cf8db5856cb6c1",
        opaque="FQhe/qaU925kfnzjCev0ciny7QMkPqMAFRtzCUYo5tdS""#;

    fn digest() -> Digest {
        let realm = Realm::new("http-auth@example.org").unwrap_or_else(|error| unreachable!("{error}"));
        Digest::new(realm, [5; 32], DigestLimits { nonce_ms: 1000, nonces_max: 10 })
    }

    fn check(digest: &mut Digest, authorization: &str, now_ms: u64) -> Checked {
        let passwords = DigestPasswords::read(FILE).unwrap_or_default();
        let authorization = authorization.replace('\n', "");
        let request = DigestRequest {
            method: b"GET",
            target: b"/dir/index.html",
            authorization: authorization.as_bytes(),
        };
        digest.check(&passwords, request, now_ms)
    }

    /// Answers a challenge as a client does, with this password and count.
    fn answer(challenge: &[u8], password: &str, nc: &str) -> String {
        let parameters = challenge.strip_prefix(b"Digest ").and_then(Parameters::read).unwrap_or_default();
        let of = |name: &str| parameters.of(name.as_bytes()).unwrap_or_default();
        let is_md5 = of("algorithm") == b"MD5";
        let algorithm = if is_md5 { Algorithm::Md5 } else { Algorithm::Sha256 };
        let user = algorithm.hash(&[b"Mufasa", of("realm"), password.as_bytes()]);
        let request = algorithm.hash(&[b"GET", b"/dir/index.html"]);
        let texts = [user.as_bytes(), of("nonce"), nc.as_bytes(), b"c\"n", b"auth", request.as_bytes()];
        let response = algorithm.hash(&texts);
        let (nonce, name) = (String::from_utf8_lossy(of("nonce")), algorithm.name());
        format!(
            "Digest username=Mufasa, realm=\"http-auth@example.org\", nonce=\"{nonce}\", \
            uri=\"/dir/index.html\", algorithm={name}, qop=auth, nc={nc}, cnonce=\"c\\\"n\", \
            response=\"{response}\""
        )
    }

    #[test]
    fn examples_of_the_rfc() {
        // The passwords are right, but the nonces were made by another server.
        for (text, wrong) in [(RFC_MD5, "8ca5"), (RFC_SHA256, "7539")] {
            assert_eq!(Checked::Stale, check(&mut digest(), text, 0));
            let text = text.replace(wrong, "0000");
            assert_eq!(Checked::Bad(DigestError::Wrong), check(&mut digest(), &text, 0));
        }
        let text = RFC_MD5.replace('\n', "").replace("Digest ", "");
        let parameters = Parameters::read(text.as_bytes()).unwrap_or_default();
        let proof =
            Answer::of(&parameters).map(|answer| answer.proof(b"3d78807defe7de2157e2b0b6573a855f", b"GET"));

        assert_eq!(Ok("8ca523f5e9506fed4657c9700eebdbec".to_owned()), proof);
    }

    #[test]
    fn a_client_answers() {
        let mut digest = digest();
        let challenges = digest.challenges(&Algorithm::ALL, Asked::First, 100);
        for (challenge, name) in challenges.iter().zip(["SHA-256", "MD5"]) {
            let text = String::from_utf8_lossy(challenge);
            let begin =
                format!("Digest realm=\"http-auth@example.org\", qop=\"auth\", algorithm={name}, nonce=\"");
            assert!(text.starts_with(&begin), "{text}");
            assert!(text.ends_with("\", charset=UTF-8, userhash=false"), "{text}");
        }
        let [sha256, md5] = &challenges[..] else { unreachable!("two algorithms") };
        // Both challenges have the same nonce, so their counts are counted together.
        for (challenge, password, nc, now_ms, expected) in [
            (md5, "Circle of Life", "00000001", 100, Some(true)),
            (md5, "Circle of Life", "00000001", 100, Some(false)),
            (sha256, "Circle of Life", "00000002", 200, Some(true)),
            (md5, "Circle of Life", "0000000A", 300, Some(true)),
            (md5, "Circle of Life", "00000000", 300, Some(false)),
            (md5, "Circle of life", "0000000b", 300, None),
            (md5, "Circle of Life", "0000000b", 1100, Some(false)),
        ] {
            let checked = check(&mut digest, &answer(challenge, password, nc), now_ms);
            let is_good = match &checked {
                Checked::Good { user, .. } => {
                    assert_eq!(b"Mufasa", &user[..]);
                    Some(true)
                }
                Checked::Stale => Some(false),
                Checked::Bad(error) => {
                    assert!(error.is_guess());
                    None
                }
            };

            assert_eq!(expected, is_good, "{nc} at {now_ms}");
        }
        let stale = digest.challenges(&[Algorithm::Md5], Asked::Stale, 1100);

        assert!(stale.len() == 1 && stale[0].ends_with(b", userhash=false, stale=true"));
        assert!(matches!(
            check(&mut digest, &answer(&stale[0], "Circle of Life", "00000001"), 1100),
            Checked::Good { .. }
        ));
    }

    #[test]
    fn the_server_proves_that_it_knows() {
        let mut digest = digest();
        let challenges = digest.challenges(&[Algorithm::Md5], Asked::First, 0);
        let text = answer(&challenges[0], "Circle of Life", "00000001");
        let parameters =
            challenges[0].strip_prefix(b"Digest ").and_then(Parameters::read).unwrap_or_default();
        let nonce = parameters.of(b"nonce").unwrap_or_default();
        let request = Algorithm::Md5.hash(&[b"", b"/dir/index.html"]);
        let user = b"3d78807defe7de2157e2b0b6573a855f";
        let proof = Algorithm::Md5.hash(&[user, nonce, b"00000001", b"c\"n", b"auth", request.as_bytes()]);
        let info = format!("rspauth=\"{proof}\", qop=auth, cnonce=\"c\\\"n\", nc=00000001").into_bytes();

        assert_eq!(Checked::Good { user: b"Mufasa".to_vec(), info }, check(&mut digest, &text, 0));
    }

    #[test]
    fn what_is_wrong_is_said() {
        for (from, to, error) in [
            ("Digest ", "Basic ", DigestError::OtherScheme),
            ("qop=auth,", "qop=auth, qop=auth,", DigestError::Malformed),
            ("qop=auth,", "qop=auth-int,", DigestError::OtherQop),
            ("qop=auth,", "", DigestError::Missing("qop")),
            ("username=", "user=", DigestError::Missing("username")),
            ("nc=00000001,", "", DigestError::Missing("nc")),
            ("nc=00000001,", "nc=1,", DigestError::Malformed),
            ("nc=00000001,", "nc=\"+0000001\",", DigestError::Malformed),
            ("nonce=\"7", "n=\"7", DigestError::Missing("nonce")),
            ("cnonce=", "cn=", DigestError::Missing("cnonce")),
            ("response=", "r=", DigestError::Missing("response")),
            ("uri=", "u=", DigestError::Missing("uri")),
            ("realm=", "r=", DigestError::Missing("realm")),
            ("@example.org", "@example.com", DigestError::OtherRealm),
            ("/dir/index.html", "/dir/index.htm", DigestError::OtherTarget),
            ("algorithm=MD5", "algorithm=MD5-sess", DigestError::OtherAlgorithm),
            ("algorithm=MD5", "algorithm=SHA-512-256", DigestError::OtherAlgorithm),
            ("algorithm=MD5", "algorithm=SHA-256", DigestError::Wrong),
            ("qop=auth", "userhash=true, qop=auth", DigestError::UserHash),
            ("qop=auth", "username*=UTF-8''Mufasa, qop=auth", DigestError::Malformed),
            ("username=\"Mufasa\"", "username*=ISO-8859-1''Mufasa", DigestError::Malformed),
            ("Mufasa", "mufasa", DigestError::Wrong),
            ("Mufasa", "", DigestError::Wrong),
            ("8ca523f5e9506fed4657c9700eebdbec", "", DigestError::Wrong),
            ("8ca523f5e9506fed4657c9700eebdbec", "8CA523F5E9506FED4657C9700EEBDBEC", DigestError::Wrong),
            ("00000001", "00000002", DigestError::Wrong),
        ] {
            let text = RFC_MD5.replace(from, to);

            assert_eq!(Checked::Bad(error), check(&mut digest(), &text, 0), "{text}");
            assert!(!error.to_string().is_empty());
        }
    }

    #[test]
    fn what_means_the_same() {
        for (from, to) in [
            ("Digest ", "DIGEST   "),
            ("algorithm=MD5", "algorithm=\"md5\""),
            ("algorithm=MD5,", ""),
            ("qop=auth", "qop=\"auth\", userhash=false, unknown=\"?\""),
            ("\"Mufasa\"", "\"\\Muf\\asa\""),
            ("username=\"Mufasa\"", "username*=utf-8'en'M%75fasa"),
            ("username=\"Mufasa\"", "username*=UTF-8''J%C3%A4s%c3%b8n"),
        ] {
            assert_eq!(Checked::Stale, check(&mut digest(), &RFC_MD5.replace(from, to), 0), "{to}");
        }
    }

    #[test]
    fn another_method_needs_another_answer() {
        let passwords = DigestPasswords::read(FILE).unwrap_or_default();
        let text = RFC_MD5.replace('\n', "");
        let request =
            DigestRequest { method: b"POST", target: b"/dir/index.html", authorization: text.as_bytes() };

        assert_eq!(Checked::Bad(DigestError::Wrong), digest().check(&passwords, request, 0));
    }

    #[test]
    fn again_is_no_replay() {
        let mut digest = digest();
        let passwords = DigestPasswords::read(FILE).unwrap_or_default();
        let challenges = digest.challenges(&[Algorithm::Md5], Asked::First, 0);
        for (password, nc, target, is_good) in [
            ("Circle of Life", "00000001", "/dir/index.html", true),
            ("Circle of life", "00000002", "/dir/index.html", false),
            ("Circle of Life", "00000003", "/dir/", false),
        ] {
            let text = answer(&challenges[0], password, nc);
            let request =
                DigestRequest { method: b"GET", target: target.as_bytes(), authorization: text.as_bytes() };
            let checked = digest.check(&passwords, request, 0);

            assert_eq!(is_good, matches!(checked, Checked::Good { .. }), "{password} {target}");
            assert_eq!(checked, digest.check_again(&passwords, request));
            assert!(!matches!(digest.check(&passwords, request, 0), Checked::Good { .. }));
        }
    }

    #[test]
    fn nobody_is_no_user() {
        // A client that computes its proof with the hash of `NOBODY` is refused like any other.
        let text = RFC_MD5.replace('\n', "").replace("Digest ", "").replace("Mufasa", "Scar");
        let parameters = Parameters::read(text.as_bytes()).unwrap_or_default();
        let proof =
            Answer::of(&parameters).map(|answer| answer.proof(&[b'0'; 32], b"GET")).unwrap_or_default();
        let text = format!("Digest {}", text.replace("8ca523f5e9506fed4657c9700eebdbec", &proof));

        assert_eq!(Checked::Bad(DigestError::Wrong), check(&mut digest(), &text, 0));
    }
}
