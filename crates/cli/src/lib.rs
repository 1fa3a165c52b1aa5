//! Settings as rows, and the command line, environment, help and reference page made of them.
//!
//! Every setting is one [`Row`] and one field of a section, both in one file of `rows/`; nothing about a setting is
//! written down twice. Values from flags, variables, keywords and a file become one [`Settings`] in
//! `settings/resolve.rs`. `sites/` reads files of sites, whose keys are rows, too. This crate reads no clock, opens no
//! socket and knows no Python; it looks at the disk only to check that the target and the folders of settings exist.

#![forbid(unsafe_code)]

pub mod bench;
mod command;
mod lint;
mod projects;
mod rows;
mod settings;
mod sites;

pub use command::arguments::{Client, Command, Import, VERSION, parse};
pub use command::failure::Failure;
pub use command::target::{Scripts, Target};
pub use lint::{folder_loops, mistakes_alone, warnings};
pub use rows::access::{Access, Auth};
pub use rows::answers::Answers;
pub use rows::application::{Application, Interface};
pub use rows::caching::Caching;
pub use rows::compression::{Compress, Compression};
pub use rows::connections::Connections;
pub use rows::files::{Files, StaticMount};
pub use rows::listening::Listening;
pub use rows::logging::{AccessLogFormat, CaptureOutput, LogFormat, Logging};
pub use rows::messages::{Messages, UnderscoreHeaders};
pub use rows::processes::{Control, Pace, ProcessCount, Processes};
pub use rows::scripts::CgiScripts;
pub use rows::threads::{HandOver, Threads};
pub use rows::timeouts::Timeouts;
pub use rows::{ROWS, SettingRow};
pub use settings::bind::Bind;
pub use settings::may_set::MaySet;
pub use settings::reference::{bench_reference, reference, sites_reference};
pub use settings::resolve::{Handed, To, absent_folders, from_keywords};
pub use settings::row::{Kind, Row, Scope};
pub use settings::said::{Fault, SaidAt, Sayings};
pub use settings::typed::{
    AppTarget, Group, INDEX, Part, ScriptFolder, Settings, Site, SiteAction, SiteRoute, Sites,
};
pub use settings::units::Unit;
pub use settings::waiting::waiting;
pub use sites::{
    FolderRedirect, FolderRuns, FolderSettings, Question, TableRoute, add_index, read_folder, read_htaccess,
    takes,
};
