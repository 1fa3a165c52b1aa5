//! All settings, one file for each section: its fields, their rows, and the types of their values.

pub(crate) mod access;
pub(crate) mod answers;
pub(crate) mod application;
pub(crate) mod caching;
pub(crate) mod compression;
pub(crate) mod connections;
pub(crate) mod files;
pub(crate) mod listening;
pub(crate) mod logging;
pub(crate) mod messages;
pub(crate) mod processes;
pub(crate) mod scripts;
pub(crate) mod threads;
pub(crate) mod timeouts;

use self::access::Access;
use self::answers::Answers;
use self::application::Application;
use self::caching::Caching;
use self::compression::Compression;
use self::connections::Connections;
use self::files::Files;
use self::listening::Listening;
use self::logging::Logging;
use self::messages::Messages;
use self::processes::Processes;
use self::scripts::CgiScripts;
use self::threads::Threads;
use self::timeouts::Timeouts;
use crate::settings::row::{Row, Section};
use crate::settings::typed::Settings;

/// Every setting, in the order of the help; rows of one section stand together.
pub static ROWS: &[SettingRow] = &joined::<COUNT>();

/// A row of a setting of the server.
pub type SettingRow = Row<Settings>;

impl SettingRow {
    /// Returns the row with this name, written with hyphens.
    pub fn find(name: &str) -> Option<&'static SettingRow> {
        ROWS.iter().find(|row| row.name == name)
    }
}

const SECTIONS: &[&[SettingRow]] = &[
    Listening::ROWS,
    Application::ROWS,
    Threads::ROWS,
    Processes::ROWS,
    Files::ROWS,
    Compression::ROWS,
    Caching::ROWS,
    CgiScripts::ROWS,
    Access::ROWS,
    Answers::ROWS,
    Logging::ROWS,
    Messages::ROWS,
    Connections::ROWS,
    Timeouts::ROWS,
];

const COUNT: usize = {
    let (mut count, mut section) = (0, 0);
    while section < SECTIONS.len() {
        count += SECTIONS[section].len();
        section += 1;
    }
    count
};

/// Joins the sections while compiling; loops, because iterators are not `const`.
const fn joined<const N: usize>() -> [SettingRow; N] {
    let mut rows = [Row::EMPTY; N];
    let (mut count, mut section) = (0, 0);
    while section < SECTIONS.len() {
        let mut row = 0;
        while row < SECTIONS[section].len() {
            rows[count] = SECTIONS[section][row];
            count += 1;
            row += 1;
        }
        section += 1;
    }
    rows
}

#[cfg(test)]
mod tests {
    use super::ROWS;
    use crate::settings::row::Kind;
    use crate::settings::typed::Settings;

    /// The `Default` of a type with a few values is the default of its row.
    #[test]
    fn words_have_one_default() {
        const FORMS: [&str; 4] = ["access-log-format", "compress", "control", "processes"];
        for row in ROWS {
            if !matches!(row.kind, Kind::Choice { .. }) && !FORMS.contains(&row.name) {
                continue;
            }
            let mut settings = Settings::blank();

            assert_eq!(Ok(()), row.apply(&mut settings, row.default), "{}", row.name);
            assert_eq!(Settings::blank(), settings, "{}", row.name);
        }
    }
}
