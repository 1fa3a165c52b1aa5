//! What the command line of `adyton bench` says, as the generator wants it.

use std::path::Path;

use adyton_bench::{Arrivals, Body, Check, Condition, Load, Plan, Slow, Statuses, Until};
use adyton_cli::bench::{self, Bench, Data};

/// Conditions as they were typed.
pub(super) fn conditions(flag: &str, texts: &[String]) -> Result<Vec<Condition>, String> {
    texts.iter().map(|text| text.parse().map_err(|why| format!("{flag} {text}: {why}"))).collect()
}

/// A search is many runs at many rates, and has no report: what would be done with one, or one rate, is refused.
pub(super) fn check_search(bench: &Bench) -> Result<(), String> {
    if bench.find_rate.is_none() {
        return Ok(());
    }
    if bench.rate.is_some() {
        return Err("--rate is one rate, and --find-rate tries many: leave one of them out".to_owned());
    }
    let given = [
        ("--output", !bench.output.is_empty()),
        ("--save", bench.save.is_some()),
        ("--baseline", bench.baseline.is_some()),
        ("--fail-if", !bench.fail_if.is_empty()),
    ];
    match given.iter().find(|(_, is_given)| *is_given) {
        Some((flag, _)) => Err(format!(
            "{flag} is for the report of one run, and --find-rate makes many: leave one of them out"
        )),
        None => Ok(()),
    }
}

/// What the command line says, as the generator wants it.
pub(super) fn of(bench: &Bench) -> Result<Plan, String> {
    let url = bench.url.parse().map_err(|why| format!("{}: {why}", bench.url))?;
    let mut plan = Plan::new(url);
    if bench.data.is_some() {
        "POST".clone_into(&mut plan.method);
    }
    if let Some(method) = &bench.method {
        plan.method.clone_from(method);
    }
    plan.headers.clone_from(&bench.headers);
    if let Some(data) = &bench.data {
        plan.body = bytes("--data", data)?;
    }
    if let Some(Data::Form(_)) = &bench.data {
        plan.headers.push(("Content-Type".to_owned(), format!("multipart/form-data; boundary={BOUNDARY}")));
    }
    (plan.connections, plan.threads) = (bench.connections, bench.threads);
    (plan.keep_alive, plan.pipeline) = (bench.keep_alive, bench.pipeline);
    // A search tries rates of its own; what it goes by are the arrivals.
    plan.load = match bench.rate.or(bench.find_rate.as_ref().map(|_| 1)) {
        None if bench.poisson => {
            return Err("--arrivals says how requests with a rate lie in time: give a --rate, too".to_owned());
        }
        None => Load::Closed,
        Some(rate) => {
            let arrivals = if bench.poisson { Arrivals::Poisson } else { Arrivals::Constant };
            // At most 10⁸.
            let rate = f64::from(u32::try_from(rate).unwrap_or(u32::MAX));
            Load::Open { rate, arrivals }
        }
    };
    plan.seed = bench.seed;
    plan.slow = Slow {
        readers: bench.slow_readers,
        senders: bench.slow_senders,
        bytes_per_second: bench.slow_rate_bytes_per_second,
    };
    plan.until = match bench.requests {
        0 => Until::Duration(bench.duration_ms),
        requests => Until::Requests(requests),
    };
    (plan.warm_up_ms, plan.timeout_ms) = (bench.warm_up_ms, bench.timeout_ms);
    plan.deadline_ms = bench.deadline_ms;
    if !bench.expect_status.is_empty() {
        plan.statuses = Statuses::Of(bench.expect_status.clone());
    }
    plan.check = match bench.check {
        bench::Check::Body => Check::Body,
        bench::Check::Sample => Check::Sample,
        bench::Check::Length => Check::Length,
        bench::Check::Nothing => Check::Nothing,
    };
    plan.count_hits = bench.count_hits;
    plan.expected = match (&bench.expect_body, bench.expect_sha256) {
        (Some(path), _) => Body::Bytes(read("--expect-body", path)?.into()),
        (None, Some(hash)) => Body::Sha256(hash),
        (None, None) => Body::First,
    };
    if let Some(path) = &bench.urls {
        let list = String::from_utf8(read("--urls", path)?);
        let list = list.map_err(|_| format!("--urls {}: it is not UTF-8", path.display()))?;
        plan.take_list(&list).map_err(|why| format!("--urls {}: {why}", path.display()))?;
    }
    Ok(plan)
}

/// Parts a form's fields; long enough to be in no file by chance.
const BOUNDARY: &str = "adyton-bench-4b1d7c0e6a93f258";

/// What is sent for it.
fn bytes(flag: &str, data: &Data) -> Result<Vec<u8>, String> {
    let parts = match data {
        Data::Text(text) => return Ok(text.clone().into_bytes()),
        Data::File(path) => return read(flag, path),
        Data::Form(parts) => parts,
    };
    let mut out = Vec::new();
    for part in parts {
        let file = match &*part.value {
            Data::File(path) => path.file_name().map(|name| name.to_string_lossy().replace('"', "%22")),
            _ => None,
        };
        // What a browser says of a file whose type it does not know (RFC 7578 section 4.4).
        let file = file.map_or(String::new(), |name| {
            format!("; filename=\"{name}\"\r\nContent-Type: application/octet-stream")
        });
        let head =
            format!("--{BOUNDARY}\r\nContent-Disposition: form-data; name=\"{}\"{file}\r\n\r\n", part.name);
        out.extend_from_slice(head.as_bytes());
        out.extend_from_slice(&bytes("--form", &part.value)?);
        out.extend_from_slice(b"\r\n");
    }
    out.extend_from_slice(format!("--{BOUNDARY}--\r\n").as_bytes());
    Ok(out)
}

fn read(flag: &str, path: &Path) -> Result<Vec<u8>, String> {
    std::fs::read(path).map_err(|error| format!("{flag} {}: {error}", path.display()))
}
