//! Settings as rows, and the command line, environment, help and reference page made of them.
//!
//! Every setting is one [`Row`]; nothing about it is written down twice.
//! What the user gives, by flag, by variable, by keyword or in a file, becomes one [`Settings`] in `resolve.rs`.
//! `sites/` reads files of sites, whose keys are rows, too.
//! This crate reads no clock, opens no socket and knows no Python; it looks at the disk only to say
//! whether the target and the folders that were named exist.

#![forbid(unsafe_code)]

mod arguments;
mod around;
pub mod bench;
mod bind;
mod django;
mod elsewhere;
mod failure;
mod help;
mod init;
mod lint;
mod may_set;
mod nearest;
mod orders;
mod reference;
mod resolve;
mod row;
mod rows;
mod said;
mod settings;
mod sites;
mod target;
mod units;

pub use arguments::{Client, Command, Import, VERSION, parse};
pub use bind::Bind;
pub use failure::Failure;
pub use lint::{folder_loops, mistakes_alone, warnings};
pub use may_set::MaySet;
pub use reference::{bench_reference, reference, sites_reference};
pub use resolve::{Handed, To, absent_folders, from_keywords, waiting};
pub use row::{Kind, Row, Scope};
pub use rows::ROWS;
pub use said::{Fault, SaidAt, Sayings};
pub use settings::{
    AccessLogFormat, AppTarget, Auth, CaptureOutput, Compress, Control, Group, HandOver, INDEX, Interface,
    LogFormat, Pace, Part, Processes, ScriptFolder, Settings, Site, SiteAction, SiteRoute, Sites,
    StaticMount, UnderscoreHeaders,
};
pub use sites::{
    FolderRedirect, FolderRuns, FolderSettings, Question, add_index, read_folder, read_htaccess, takes,
};
pub use target::{Scripts, Target};
pub use units::Unit;
