//! The command line of `adyton bench`, as a plan for the generator.

use std::path::Path;

use adyton_bench::{Arrivals, Body, Check, Condition, Load, Plan, Slow, Statuses, Until};
use adyton_cli::bench::{self, Bench, Data, FormPart};

/// Parses conditions.
pub(super) fn conditions(flag: &str, texts: &[String]) -> Result<Vec<Condition>, String> {
    texts.iter().map(|text| text.parse().map_err(|why| format!("{flag} {text}: {why}"))).collect()
}

/// The condition of a search, if the user wants one. A search makes many runs at many rates, and has no report: options
/// about one report, or one rate, are refused.
pub(super) fn search(bench: &Bench) -> Result<Option<Condition>, String> {
    let Some(condition) = conditions("--find-rate", bench.find_rate.as_slice())?.pop() else {
        return Ok(None);
    };
    if !condition.has_highest_rate() {
        return Err(format!(
            "--find-rate {condition}: there is no highest rate at which this condition holds; write an upper bound on \
             a time or on cpu, as p99<50ms"
        ));
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
        None => Ok(Some(condition)),
    }
}

/// Makes the generator's plan from the command line.
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
    plan.omitted.clone_from(&bench.omitted);
    if let Some(data) = &bench.data {
        plan.body = bytes("--data", data)?;
    }
    if let Some(Data::Form(_)) = &bench.data {
        set_form_type(&mut plan.headers)?;
    }
    (plan.connections, plan.threads) = (bench.connections, bench.threads);
    (plan.keep_alive, plan.pipeline) = (bench.keep_alive, bench.pipeline);
    // A search chooses its own rates, and takes only the arrivals from this load.
    plan.load = match bench.rate.or(bench.find_rate.as_ref().map(|_| 1)) {
        None if bench.poisson => {
            return Err(
                "--arrivals distributes the requests of a --rate in time: give a --rate, too".to_owned()
            );
        }
        None => Load::Closed,
        Some(rate) => {
            let arrivals = if bench.poisson { Arrivals::Poisson } else { Arrivals::Constant };
            // `rate` is at most 10⁸.
            let rate = f64::from(u32::try_from(rate).unwrap_or(u32::MAX));
            Load::Open { rate, arrivals }
        }
    };
    plan.seed = bench.seed;
    plan.slow = Slow {
        readers: bench.slow_readers,
        senders: bench.slow_senders,
        uploads: bench.slow_uploads,
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
    plan.accepted.clone_from(&bench.accepted);
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

/// Boundary of a form's fields; long enough to be in no file by chance.
const BOUNDARY: &str = "adyton-bench-4b1d7c0e6a93f258";

/// Sets the Content-Type of a form, with the boundary of its fields, which the user cannot know.
fn set_form_type(headers: &mut Vec<(String, String)>) -> Result<(), String> {
    let boundary = format!("; boundary={BOUNDARY}");
    match headers.iter_mut().find(|(name, _)| name.eq_ignore_ascii_case("Content-Type")) {
        None => headers.push(("Content-Type".to_owned(), format!("multipart/form-data{boundary}"))),
        Some((_, value)) if value.starts_with("multipart/") && !value.contains("boundary=") => {
            value.push_str(&boundary);
        }
        Some((_, value)) => {
            return Err(format!(
                "--form: a form is multipart/form-data, with a boundary of its own, and not {value}: leave Content-Type out"
            ));
        }
    }
    Ok(())
}

/// The request body for these options.
fn bytes(flag: &str, data: &Data) -> Result<Vec<u8>, String> {
    match data {
        Data::Text(text) => Ok(text.clone().into_bytes()),
        Data::File(path) => read(flag, path),
        Data::Stripped(path) => {
            let is_sent = |byte: &u8| !b"\r\n\0".contains(byte);
            Ok(read(flag, path)?.into_iter().filter(is_sent).collect())
        }
        Data::Joined(all) => {
            let all: Result<Vec<_>, String> = all.iter().map(|data| bytes(flag, data)).collect();
            Ok(all?.concat())
        }
        Data::Form(parts) => {
            let parts: Result<Vec<_>, String> = parts.iter().map(part).collect();
            Ok([parts?.concat(), format!("--{BOUNDARY}--\r\n").into_bytes()].concat())
        }
    }
}

/// A field of a form, preceded by its boundary.
fn part(part: &FormPart) -> Result<Vec<u8>, String> {
    let file = part.filename.as_ref().map(|name| format!("; filename=\"{}\"", name.replace('"', "%22")));
    // Browsers send this type for a file whose type they do not know (RFC 7578 section 4.4).
    let of_file = part.filename.as_ref().map(|_| "application/octet-stream");
    let media_type = part.media_type.as_deref().or(of_file).map(|name| format!("\r\nContent-Type: {name}"));
    let head = format!(
        "--{BOUNDARY}\r\nContent-Disposition: form-data; name=\"{}\"{}{}\r\n\r\n",
        part.name,
        file.unwrap_or_default(),
        media_type.unwrap_or_default()
    );
    Ok([head.as_bytes(), &bytes("--form", &part.value)?, b"\r\n"].concat())
}

fn read(flag: &str, path: &Path) -> Result<Vec<u8>, String> {
    std::fs::read(path).map_err(|error| format!("{flag} {}: {error}", path.display()))
}
