//! Prints a report that is given as JSON in one of the forms for people and programs, so that tests can look at them:
//! `cargo run -p adyton-bench --example render -- html < report.json`.

use std::error::Error;
use std::io;

use adyton_bench::{Ink, Judged, Report, csv, html, markdown, table};

fn main() -> Result<(), Box<dyn Error>> {
    let report = Report::from_json(io::read_to_string(io::stdin())?.leak())?;
    let mut words = std::env::args().skip(1);
    let text = match words.next().as_deref() {
        Some("html") => html(&report, Judged::default())?,
        Some("md") => markdown(&report, Judged::default()),
        Some("csv") => csv(&report),
        Some("table") => table(&report, Ink::Plain, words.next().ok_or("table COLUMNS")?.parse()?),
        _ => return Err("html, md, csv, or table COLUMNS".into()),
    };
    print!("{text}");
    Ok(())
}
