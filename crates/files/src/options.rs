//! Options of a folder, with their defaults.

use std::io;
use std::path::PathBuf;
use std::sync::Arc;

use adyton_http1 as http1;

use crate::answer::compressing::Compressing;
use crate::path::{FilePath, is_published};
use crate::room::CacheRoom;
use crate::run::sources::Sources;

/// The most files of a folder that are kept open, unless the settings say otherwise.
pub const OPEN_FILES_MAX: usize = 256;

/// The index file of a folder, unless the options say otherwise.
pub const INDEX: &str = "index.html";

/// Options of a folder that is served.
#[expect(
    clippy::struct_excessive_bools,
    reason = "each is a setting of its own that users switch on and off"
)]
#[derive(Clone, Debug)]
pub struct Options {
    /// The folder. Nothing outside of it is ever served.
    pub root: PathBuf,
    /// Name of the index file, which stands for its folder; empty if no file stands for a folder.
    pub index: String,
    /// Whether a folder without an index is answered with a listing.
    pub listing: bool,
    /// Value of `Cache-Control` on files.
    pub cache_control: Option<String>,
    /// File beneath the root to send with status 404 if the requested file is absent.
    pub not_found_page: Option<String>,
    /// File beneath the root to send instead of a 404 when a browser navigates: the request accepts HTML, and the last
    /// segment of its path has no extension. Has precedence over `fall_through`.
    pub spa_fallback: Option<String>,
    /// Whether a request for an absent file goes to the application.
    pub fall_through: bool,
    /// Whether `name.br`, `name.zst` and `name.gz` are sent instead of `name` to a client that accepts them. A
    /// neighbour that is older than the file is not used.
    pub precompressed: bool,
    /// Rules for compressing other files. No file is compressed if `cache_control` says `no-transform`.
    pub compressing: Compressing,
    /// Whether symbolic links are followed. A link that leads out of the root never is.
    pub follow_symlinks: bool,
    /// Files that other routes of the site run. This folder treats them as absent.
    pub sources: Vec<Sources>,
    /// Memory for cached files and their heads, which folders may share.
    pub cache_room: Arc<CacheRoom>,
    /// Longest file that is kept in memory, bytes. A longer file is kept open, and the kernel sends it without a copy.
    /// The second system call that this needs takes less time than the copy from some 7 KB on.
    pub cache_file_bytes_max: u64,
    /// The most files kept open. A file that is deleted meanwhile takes up disk space until it is closed.
    pub open_files_max: usize,
}

impl Options {
    /// The defaults for a folder: links are not followed, there is no listing, precompressed neighbours are used, and
    /// the cache has 32 MiB.
    pub fn new(root: impl Into<PathBuf>) -> Options {
        Options {
            root: root.into(),
            index: INDEX.to_owned(),
            listing: false,
            cache_control: None,
            not_found_page: None,
            spa_fallback: None,
            fall_through: false,
            precompressed: true,
            compressing: Compressing::default(),
            follow_symlinks: false,
            sources: Vec::new(),
            cache_room: CacheRoom::new(32 << 20),
            cache_file_bytes_max: 8 << 10,
            open_files_max: OPEN_FILES_MAX,
        }
    }

    /// Refuses options that make no sense, and parses the paths of the pages.
    pub(crate) fn check(&self) -> io::Result<Pages> {
        self.check_fields()?;
        let is_name = is_published(self.index.as_bytes()) && !self.index.contains(['/', '\\', '\0']);
        if !self.index.is_empty() && !is_name {
            return Err(invalid(format!("the index {:?} is not the name of a file to serve", self.index)));
        }
        Ok(Pages {
            not_found: self.not_found_page.as_deref().map(page_path).transpose()?,
            spa_fallback: self.spa_fallback.as_deref().map(page_path).transpose()?,
        })
    }

    /// Tries the fields that the operator has set, so that no answer fails because of them.
    fn check_fields(&self) -> io::Result<()> {
        let Some(value) = &self.cache_control else { return Ok(()) };
        let mut scratch = Vec::new();
        http1::begin(&mut scratch, 200, b"OK")
            .and_then(|mut head| head.field(b"Cache-Control", value.as_bytes()))
            .map_err(|_| invalid(format!("the Cache-Control {value:?} cannot be sent in a header field")))
    }
}

/// Pages that are sent if the requested file is absent.
pub(crate) struct Pages {
    pub(crate) not_found: Option<FilePath>,
    pub(crate) spa_fallback: Option<FilePath>,
}

/// Parses the path of an operator's page. It must be a path that clients can request, because it is the key in the
/// cache.
fn page_path(page: &str) -> io::Result<FilePath> {
    let escaped = page.replace('%', "%25");
    let path = FilePath::parse(escaped.as_bytes()).ok();
    path.filter(|path| !path.relative().is_empty() && !path.names_folder())
        .ok_or_else(|| invalid(format!("the page {page:?} is not a path to a file to serve")))
}

fn invalid(sentence: String) -> io::Error {
    io::Error::new(io::ErrorKind::InvalidInput, sentence)
}
