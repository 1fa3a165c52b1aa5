//! Rules of folders that decide by a file's name whether the file is run.
//!
//! A file's name decides whether it is a program, and its mode decides only whether it may run. Therefore a program
//! that has the wrong mode, or is being written, is refused, and its text is never sent.

use std::path::PathBuf;

use adyton_compress::CODINGS;

/// Rules for which files are run: the rules of one folder, or of all folders on the path to a file together.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Runs {
    /// Endings of names in small letters, such as `.pl`. If a name ends with several of them, the first in the list
    /// counts.
    pub ends: Vec<(Vec<u8>, ByEnd)>,
    /// The treatment of all other files; `None`: as in the outer folder, and in the outermost one they are sent.
    pub others: Option<Others>,
    /// Whether programs may run at all; `None`: as in the outer folder.
    pub may: Option<bool>,
}

/// The treatment of files whose names have a listed ending.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum ByEnd {
    /// The files are run by this program, or executed themselves.
    Run(Option<PathBuf>),
    /// The files are treated like files without a listed ending.
    AsOthers,
}

/// The treatment of files whose names have no listed ending.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Others {
    /// The files are sent.
    Sent,
    /// Pages, pictures and similar files ([`is_shown`]) are sent, and all others are run.
    ShownAreSent,
    /// The files are run, whatever their names are.
    Run,
    /// The files are neither sent nor run.
    Refused,
}

/// The treatment of a file, which its name decides.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Way<'r> {
    /// The file is sent.
    Sent,
    /// The file is run by this program, or executed itself.
    Run(Option<&'r PathBuf>),
    /// The file is neither sent nor run: it may be the source of a program.
    Refused,
}

impl Runs {
    /// Adds the rules of an inner folder. Its endings are compared first. If the outer rules run or refuse all other
    /// files, [`Others::ShownAreSent`] of the inner folder does not change that.
    #[must_use]
    pub fn with(&self, inner: &Runs) -> Runs {
        let ends = inner.ends.iter().chain(&self.ends).cloned().collect();
        let others = match (self.others, inner.others) {
            (outer @ Some(Others::Run | Others::Refused), None | Some(Others::ShownAreSent)) => outer,
            (outer, inner) => inner.or(outer),
        };
        Runs { ends, others, may: inner.may.or(self.may) }
    }

    /// Whether programs may run.
    pub fn may_run(&self) -> bool {
        self.may == Some(true)
    }

    /// The treatment of a file of this name.
    pub fn way(&self, name: &[u8]) -> Way<'_> {
        match self.meant(name) {
            Way::Run(_) if !self.may_run() => Way::Refused,
            way => way,
        }
    }

    /// The treatment of a file of this name if programs may run.
    fn meant(&self, name: &[u8]) -> Way<'_> {
        let small = name.to_ascii_lowercase();
        let found = self.ends.iter().find(|(end, _)| small.ends_with(end));
        if let Some((_, ByEnd::Run(program))) = found {
            return Way::Run(program.as_ref());
        }
        // A name such as `a.pl.gz` or `a.pl.old` belongs to a copy of a program. Apache would run some of these copies.
        let is_within = |end: &[u8]| {
            let mut places = memchr::memmem::find_iter(&small, end);
            places.any(|at| small.get(at + end.len()) == Some(&b'.'))
        };
        let is_run = |end: &[u8]| {
            let found = self.ends.iter().find(|(other, _)| other == end);
            matches!(found, Some((_, ByEnd::Run(_))))
        };
        if self.ends.iter().any(|(end, _)| is_within(end) && is_run(end)) {
            return Way::Refused;
        }
        match self.others {
            None | Some(Others::Sent) => Way::Sent,
            Some(Others::Run) => Way::Run(None),
            Some(Others::Refused) => Way::Refused,
            Some(Others::ShownAreSent) => {
                let plain = without_codings(&small);
                match (is_shown(plain), plain.len() < small.len()) {
                    (true, _) => Way::Sent,
                    (false, true) => Way::Refused,
                    (false, false) => Way::Run(None),
                }
            }
        }
    }
}

/// Removes the endings that are added when a file is compressed.
fn without_codings(name: &[u8]) -> &[u8] {
    let mut plain = name;
    while let Some(shorter) = CODINGS.iter().find_map(|coding| plain.strip_suffix(coding.suffix().as_bytes()))
    {
        plain = shorter;
    }
    plain
}

/// Whether a name has an ending usual for pages and downloads: text, pictures, sound, fonts, archives.
pub fn is_shown(name: &[u8]) -> bool {
    let Some(dot) = memchr::memrchr(b'.', name) else { return false };
    let end = &name[dot + 1..];
    SHOWN_ENDS.iter().any(|shown| shown.as_bytes().eq_ignore_ascii_case(end))
}

/// The endings, after the last dot, for [`is_shown`].
const SHOWN_ENDS: &[&str] = &[
    "7z",
    "aac",
    "apng",
    "atom",
    "avif",
    "bmp",
    "bz2",
    "css",
    "csv",
    "deb",
    "doc",
    "docx",
    "eot",
    "epub",
    "flac",
    "gif",
    "htm",
    "html",
    "ico",
    "ics",
    "iso",
    "jpeg",
    "jpg",
    "js",
    "json",
    "m3u8",
    "m4a",
    "m4v",
    "map",
    "md",
    "mjs",
    "mov",
    "mp3",
    "mp4",
    "mpeg",
    "odp",
    "ods",
    "odt",
    "ogg",
    "ogv",
    "opus",
    "otf",
    "pdf",
    "png",
    "ppt",
    "pptx",
    "rss",
    "svg",
    "tar",
    "tgz",
    "tif",
    "tiff",
    "ttf",
    "txt",
    "vcf",
    "vtt",
    "wasm",
    "wav",
    "webm",
    "webmanifest",
    "webp",
    "woff",
    "woff2",
    "xhtml",
    "xls",
    "xlsx",
    "xml",
    "xz",
    "zip",
];

#[cfg(test)]
mod tests {
    use std::path::PathBuf;

    use super::{ByEnd, Others, Runs, Way};

    fn ends(ends: &[&str], program: Option<&str>) -> Runs {
        let end = |end: &&str| (end.as_bytes().to_vec(), ByEnd::Run(program.map(PathBuf::from)));
        Runs { ends: ends.iter().map(end).collect(), others: None, may: Some(true) }
    }

    fn others(others: Others) -> Runs {
        Runs { others: Some(others), may: Some(true), ..Runs::default() }
    }

    /// A file's name decides whether the file is sent, executed, run by a program, or refused.
    #[test]
    fn names() {
        let perl = ends(&[".pl"], Some("/usr/bin/perl"));
        let (programs, every) = (others(Others::ShownAreSent), others(Others::Run));
        let both = programs.with(&perl);
        let shown = |way: Way<'_>| match way {
            Way::Sent => "sent",
            Way::Run(None) => "run",
            Way::Run(Some(_)) => "perl",
            Way::Refused => "refused",
        };
        for (name, expected) in [
            ("a.pl", ["perl", "run", "run", "perl"]),
            ("A.PL", ["perl", "run", "run", "perl"]),
            ("a.pl.gz", ["refused", "refused", "run", "refused"]),
            ("a.Pl.old", ["refused", "run", "run", "refused"]),
            ("a.pl.html", ["refused", "sent", "run", "refused"]),
            ("a.plain", ["sent", "run", "run", "run"]),
            ("pl", ["sent", "run", "run", "run"]),
            ("README", ["sent", "run", "run", "run"]),
            ("a.sh", ["sent", "run", "run", "run"]),
            ("a.sh.br", ["sent", "refused", "run", "refused"]),
            ("a.css", ["sent", "sent", "run", "sent"]),
            ("a.CSS.gz.br", ["sent", "sent", "run", "sent"]),
            ("index.html", ["sent", "sent", "run", "sent"]),
        ] {
            let found = [&perl, &programs, &every, &both].map(|runs| shown(runs.way(name.as_bytes())));

            assert_eq!(expected, found, "{name}");
        }
        assert_eq!(Way::Sent, Runs::default().way(b"a.pl"));
        assert_eq!(Way::Refused, others(Others::Refused).way(b"a.html"));
    }

    /// The rules of an inner folder are added to those of the outer folder.
    #[test]
    fn folders_inside() {
        let perl = ends(&[".pl"], Some("/usr/bin/perl"));
        let own = ends(&[".pl", ".cgi"], None);
        let (every, programs) = (others(Others::Run), others(Others::ShownAreSent));
        let by_perl = PathBuf::from("/usr/bin/perl");
        let removed = Runs { ends: vec![(b".pl".to_vec(), ByEnd::AsOthers)], ..Runs::default() };
        let barred = Runs { may: Some(false), ..Runs::default() };

        assert_eq!(Way::Run(None), perl.with(&own).way(b"a.pl"));
        assert_eq!(Way::Run(Some(&by_perl)), own.with(&perl).way(b"a.pl"));
        assert_eq!(Way::Run(None), every.with(&perl).with(&programs).way(b"a.html"));
        assert_eq!(perl, perl.with(&Runs::default()));
        assert_eq!(Way::Sent, perl.with(&removed).way(b"a.pl"));
        assert_eq!(Way::Sent, perl.with(&removed).way(b"a.pl.x"));
        assert_eq!(Way::Run(None), every.with(&removed).way(b"a.pl"));
        assert_eq!(Way::Run(None), programs.with(&removed).way(b"a.pl"));
        assert_eq!(Way::Refused, perl.with(&barred).way(b"a.pl"));
        assert_eq!(Way::Sent, perl.with(&barred).way(b"a.txt"));
        assert_eq!(Way::Sent, every.with(&others(Others::Sent)).way(b"a.txt"));
    }
}
