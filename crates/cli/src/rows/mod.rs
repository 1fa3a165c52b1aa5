//! The table of all settings, one file for each group.

pub(crate) mod access;
mod answers;
mod application;
mod caching;
mod compression;
mod connections;
mod files;
mod listening;
mod logging;
mod messages;
mod processes;
mod scripts;
mod threads;
mod timeouts;

use crate::settings::row::Row;

/// Every setting, in the order of the help; rows of one group stand together.
pub static ROWS: &[Row] = &joined::<COUNT>();

impl Row {
    /// The row with this name, written with hyphens.
    pub fn find(name: &str) -> Option<&'static Row> {
        ROWS.iter().find(|row| row.name == name)
    }
}

const GROUPS: &[&[Row]] = &[
    listening::ROWS,
    application::ROWS,
    threads::ROWS,
    processes::ROWS,
    files::ROWS,
    compression::ROWS,
    caching::ROWS,
    scripts::ROWS,
    access::ROWS,
    answers::ROWS,
    logging::ROWS,
    messages::ROWS,
    connections::ROWS,
    timeouts::ROWS,
];

const COUNT: usize = {
    let (mut count, mut group) = (0, 0);
    while group < GROUPS.len() {
        count += GROUPS[group].len();
        group += 1;
    }
    count
};

/// Joins the groups while compiling; loops, because iterators are not `const`.
const fn joined<const N: usize>() -> [Row; N] {
    let mut rows = [Row::EMPTY; N];
    let (mut count, mut group) = (0, 0);
    while group < GROUPS.len() {
        let mut row = 0;
        while row < GROUPS[group].len() {
            rows[count] = GROUPS[group][row];
            count += 1;
            row += 1;
        }
        group += 1;
    }
    rows
}
