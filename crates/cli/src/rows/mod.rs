//! The table of all settings, one file for each group.

mod application;
mod connections;
mod files;
mod listening;
mod logging;
mod messages;
mod processes;
mod threads;
mod timeouts;

use crate::row::{Kind, Row};
use crate::units::digits;

/// Every setting, in the order of the help; rows of one group stand together.
pub static ROWS: &[Row] = &joined::<COUNT>();

const GROUPS: &[&[Row]] = &[
    listening::ROWS,
    application::ROWS,
    threads::ROWS,
    processes::ROWS,
    files::ROWS,
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

/// What a row leaves out.
const ROW: Row = Row::EMPTY;

/// Reads the rights of files, as chmod(1) takes them.
fn octal(text: &str, example: &str) -> Result<u32, String> {
    match digits(text).map(|text| u32::from_str_radix(text, 8)) {
        Some(Ok(bits)) if bits <= 0o777 => Ok(bits),
        _ => Err(format!("write three octal digits, as in {example}")),
    }
}

/// Joins the groups while compiling; loops, because iterators are not `const`.
const fn joined<const N: usize>() -> [Row; N] {
    let mut rows = [ROW; N];
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
