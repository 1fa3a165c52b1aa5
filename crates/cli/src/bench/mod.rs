//! `adyton bench`: the options that the user gives to the load generator.

pub(crate) mod curl;
mod curl_form;
mod options;
mod rows;

pub use options::{Bench, Check, Data, FormPart};
pub use rows::ROWS;
