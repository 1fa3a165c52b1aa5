//! Compares the settings before and after a reload: some apply only when the supervisor's program is started anew.

use crate::rows::{ROWS, SettingRow};
use crate::settings::typed::Settings;

/// Returns the settings that differ but apply only when the supervisor's program is started anew.
pub fn waiting(before: &Settings, now: &Settings) -> Vec<&'static str> {
    let differs = |row: &&SettingRow| row.held.is_some_and(|is_same| !is_same(before, now));
    ROWS.iter().filter(differs).map(|row| row.name).collect()
}
