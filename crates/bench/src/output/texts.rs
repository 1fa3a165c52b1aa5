//! Pieces of text, made from a report, that all output forms share.

use crate::counting::latency::{COLUMNS, Column, Latency, column, told};
use crate::generator::slow_side::SlowSide;
use crate::report::numbers::{float, grouped, grouped_whole, ms};
use crate::report::whole::{RATE_SECONDS_MIN, Report, UrlSide, can_drift, unknown};

/// Shows a time of a table in milliseconds, or a hyphen if there are too few times for this column.
pub(crate) fn cell(column: &Column, times: &Latency) -> String {
    told(column, times).map_or_else(|| UNTOLD.to_owned(), ms)
}

/// Mark in the place of a figure for which too little was measured.
pub(crate) const UNTOLD: &str = "-";

/// Returns the bytes of bodies a second, in millions.
pub(crate) fn megabytes(report: &Report) -> String {
    if report.has_rate() { format!("{:.3}", report.body_bytes_per_second / 1e6) } else { UNTOLD.to_owned() }
}

/// Titles of the table of a list of URLs.
pub(crate) const URL_COLUMNS: [&str; 7] = ["weight", "sent", "right", "wrong", "p50 ms", "p99 ms", "URL"];

/// Returns a row for each URL of a list; the times are left out if they must not be used.
pub(crate) fn urls(report: &Report) -> Vec<[String; URL_COLUMNS.len()]> {
    let row = |url: &UrlSide| {
        let [p50, p99] = ["p50", "p99"].map(|title| match column(title) {
            Some(column) if report.is_valid() => cell(column, &url.times),
            _ => String::new(),
        });
        let [sent, right, wrong] = [url.sent, url.right, url.wrong].map(|count| count.to_string());
        let target = url.url.strip_prefix(server_of(&report.asked.url)).unwrap_or(&url.url);
        [url.weight.to_string(), sent, right, wrong, p50, p99, format!("{} {target}", url.method)]
    };
    report.urls.iter().map(row).collect()
}

/// Returns the part of a URL that says which server it is: `http://host:port` or `unix:path:`.
pub(crate) fn server_of(url: &str) -> &str {
    let authority = url.find("://").map_or(0, |at| at + "://".len());
    let end = match url.strip_prefix("unix:") {
        Some(path) => path.find(":/").map(|at| "unix:".len() + at + 1),
        None => url[authority..].find('/').map(|at| authority + at),
    };
    &url[..end.unwrap_or(url.len())]
}

/// Returns the request and its place: a method and a URL, or the number of URLs and their server. If there is a list,
/// only the server in the URL of the command line matters.
pub(crate) fn title(report: &Report) -> [String; 2] {
    let asked = &report.asked;
    match report.urls.len() {
        0 => [asked.method.clone(), asked.url.clone()],
        1 => ["1 URL at".to_owned(), server_of(&asked.url).to_owned()],
        count => [format!("{count} URLs at"), server_of(&asked.url).to_owned()],
    }
}

/// Tells what was asked, in two lines.
pub(crate) fn asked(report: &Report) -> [String; 2] {
    let asked = &report.asked;
    let load = match asked.rate {
        None => "closed loop".to_owned(),
        Some(rate) => format!("open loop, {} requests/s ({})", grouped(rate), asked.load),
    };
    let kept = if asked.keep_alive { "kept alive" } else { "one for each request" };
    let pipeline =
        if asked.pipeline > 1 { format!(", {} requests at once", asked.pipeline) } else { String::new() };
    let answer = match report.urls.len() {
        0 => format!("{}, {} + {} bytes", asked.status, asked.answer_head_bytes, asked.answer_body_bytes),
        _ => format!("drawn by weight, seed {}", asked.seed.unwrap_or(0)),
    };
    [
        format!("{answer}; checked: {}", asked.checked),
        format!(
            "{} {kept}{pipeline}, {}, {load}, {:.1} s after {:.1} s",
            plural(asked.connections, "connection", "connections"),
            plural(asked.threads, "thread", "threads"),
            report.seconds,
            f64::from(u32::try_from(asked.warm_up_ms).unwrap_or(u32::MAX)) / 1e3
        ),
    ]
}

/// Tells that the user has interrupted the run, and after how much of it; `None` if the run ended by itself.
pub(crate) fn interrupted(report: &Report) -> Option<String> {
    let (asked, seconds) = (&report.asked, report.seconds);
    let of = match (asked.requests, asked.duration_ms) {
        (Some(requests), _) => format!("{seconds:.1} s, {} of {requests} requests", report.counts.settled()),
        (None, Some(ms)) => format!("{seconds:.1} of {:.1} s", float(ms) / 1e3),
        (None, None) => format!("{seconds:.1} s"),
    };
    report.interrupted.then(|| format!("interrupted after {of}: the report is of these only"))
}

/// Mark beside a disturbed figure.
pub(crate) const DISTURBED: &str = "DISTURBED";

/// Returns the notes that a reader of the figures must know, each with its mark: disturbances of the run that the user
/// has accepted, and warnings.
pub(crate) fn marks(report: &Report) -> Vec<(&'static str, String)> {
    let disturbed = report.disturbed.iter().map(|reason| (DISTURBED, reason.why.clone()));
    disturbed.chain(report.warnings.iter().map(|reason| ("warning", reason.why.clone()))).collect()
}

/// Returns the rate, with the mark without which it must not be quoted.
pub(crate) fn marked_rate(report: &Report) -> String {
    let mark = if report.disturbed.is_empty() { String::new() } else { format!(" {DISTURBED}") };
    rate(report) + &mark
}

/// Returns the rate, if the measurement was long enough for one.
pub(crate) fn rate(report: &Report) -> String {
    if report.has_rate() { grouped(report.rate) } else { UNTOLD.to_owned() }
}

/// Tells which figures need more answers or a longer measurement, and how many answers or how long.
fn untold(report: &Report) -> Option<String> {
    let mut parts = Vec::new();
    if !report.has_rate() {
        let (right, ms) = (report.counts.right, report.seconds * 1e3);
        parts.push(format!(
            "{right} answers within {ms:.1} ms are too few for a rate, which takes {:.0} ms",
            RATE_SECONDS_MIN * 1e3
        ));
    }
    let kinds = times(report);
    let lacks =
        |column: &&Column| kinds.iter().any(|(_, times)| times.count > 0 && told(column, times).is_none());
    let titles: Vec<String> = COLUMNS
        .iter()
        .filter(lacks)
        .map(|(title, _, least)| format!("{title} takes {} answers", grouped_whole(float(*least))))
        .collect();
    if !titles.is_empty() {
        parts.push(titles.join(", "));
    }
    (!parts.is_empty()).then(|| parts.join("; "))
}

/// Describes the first answer that was not right: a sentence, and its head line by line.
pub(crate) fn first_wrong(report: &Report) -> Option<(String, Vec<String>)> {
    let wrong = report.first_wrong.as_ref()?;
    let lines = wrong.head.lines().map(str::to_owned).collect();
    Some((format!("{}: {}", wrong.request, wrong.why), lines))
}

/// Returns the identity: where every request went.
pub(crate) fn identity(report: &Report) -> String {
    let counts = &report.counts;
    format!(
        "sent {} = right {} + wrong status {} + wrong body {} + connection error {} + timeout {} + in flight {}",
        counts.sent,
        counts.right,
        counts.wrong_status,
        counts.wrong_body,
        counts.connection_error,
        counts.timeout,
        counts.in_flight
    )
}

/// Describes errors by cause: the statuses if any was wrong, a line for each cause, and the age of the oldest request.
pub(crate) fn errors(report: &Report) -> Vec<(&'static str, String)> {
    let counts = &report.counts;
    let mut out = Vec::new();
    if counts.wrong_status > 0 {
        let statuses: Vec<String> =
            report.statuses.iter().map(|(status, count)| format!("{status}: {count}")).collect();
        out.push(("statuses", statuses.join(", ")));
    }
    out.extend(report.errors.iter().map(|(cause, count)| ("error", format!("{cause}: {count}"))));
    if counts.timeout > 0 || counts.connection_error > 0 {
        out.push(("oldest", format!("the oldest was {} ms old", report.oldest_ms)));
    }
    out
}

/// Returns the texts below the counts, each with its name: for a valid run, the texts of the server, this program and
/// the connections; for any run, the counts that the user has additionally asked for.
pub(crate) fn sides(report: &Report) -> Vec<(&'static str, String)> {
    let mut sides = if report.is_valid() { figures(report) } else { Vec::new() };
    if report.asked.sample > 1 {
        let (compared, sample) = (report.compared, report.asked.sample);
        sides.push(("compared", format!("every byte of {compared} right bodies, one in {sample}")));
    }
    if let Some(hits) = report.hits {
        let counted = plural(hits.processes, "process", "processes");
        let text = format!(
            "{} requests seen by {counted} of the application, for {} right answers to {} requests, warm-up included",
            hits.seen, hits.right, hits.sent
        );
        sides.push(("hits", text));
    }
    sides.extend(report.slow.iter().map(|side| (side.kind, slow(side, report.is_valid()))));
    sides.extend(unknown(report).map(|text| ("unknown", text)));
    sides
}

/// Returns the texts that only a valid run has: people would quote a figure that stands beside INVALID without that
/// word.
fn figures(report: &Report) -> Vec<(&'static str, String)> {
    let server = report.server.as_ref().map_or_else(
        || "not on this machine, or not visible to this user".to_owned(),
        |server| {
            let cpu = server.cpu_us().map_or_else(
                || {
                    format!(
                        "less than {:.0} us of CPU a request (too little for a clock that ticks at 10 ms)",
                        server.cpu_us_max().ceil()
                    )
                },
                |us| format!("{us:.2} us of CPU a request, {:.2} CPUs", server.cpus),
            );
            let memory = match server.pss_bytes {
                0 => "memory unknown".to_owned(),
                bytes => format!("{:.1} MiB (PSS)", float(bytes) / 1_048_576.0),
            };
            format!("{cpu}, {memory} in {}", plural(server.processes, "process", "processes"))
        },
    );
    let generator = format!(
        "{:.0} % busy, waited for a CPU for {:.0} % of the time; its ceiling is {} requests/s",
        100.0 * report.generator.busy,
        100.0 * report.generator.waiting,
        grouped(report.generator.ceiling_rate)
    );
    let fair = &report.fairness;
    let fairness = format!(
        "{} to {} answers a connection, median {} (Jain's index {:.3})",
        fair.min, fair.max, fair.median, fair.jain
    );
    let mut sides = vec![("server", server), ("generator", generator), ("fairness", fairness)];
    sides.extend(untold(report).map(|text| ("too few", text)));
    if !can_drift(report) {
        let text = "too short to tell a drift, which takes 5 s; a stall of half a second would be named";
        sides.push(("steady", text.to_owned()));
    }
    if let (Some(in_time), Some(deadline_ms)) = (report.in_time, report.asked.deadline_ms) {
        let text = format!("{in_time} of {} right answers within {deadline_ms} ms", report.counts.right);
        sides.push(("in time", text));
    }
    sides
}

/// Describes the outcomes of slow clients' requests; the times are left out if they must not be used.
fn slow(side: &SlowSide, with_times: bool) -> String {
    let counts = &side.counts;
    let of = |outcome: &str, count: u64, times: &Latency| match count {
        0 => format!("0 {outcome}"),
        _ if !with_times => format!("{count} {outcome}"),
        _ => format!("{count} {outcome} (after {} to {} ms)", ms(times.min_us), ms(times.max_us)),
    };
    let under_way = match counts.under_way {
        0 => String::new(),
        count if !with_times => format!(", {count} under way"),
        count => format!(", {count} under way (up to {} ms old)", side.oldest_ms),
    };
    format!(
        "{} slow ones, {} bytes/s: {}, {} wrong, {}, {} not connected{under_way}",
        side.clients,
        side.bytes_per_second,
        of("right", counts.right, &side.right_times),
        counts.wrong,
        of("cut off", counts.cut_off, &side.cut_off_times),
        counts.not_connected
    )
}

/// Returns the kinds of times that the report has, each with its name.
pub(crate) fn times(report: &Report) -> Vec<(&'static str, Latency)> {
    let all = [
        ("response", report.response),
        ("service", Some(report.service)),
        ("first byte", Some(report.first_byte)),
        ("connect", report.connect),
        // Connections that are kept alive are made in the warm-up.
        ("connect before", report.connect_before.filter(|_| report.connect.is_none())),
    ];
    all.into_iter().filter_map(|(name, times)| Some((name, times?))).collect()
}

fn plural(count: u32, one: &str, several: &str) -> String {
    format!("{count} {}", if count == 1 { one } else { several })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::report::verdict::tests::good;

    /// Facts that the machine did not tell must be reported as unknown.
    #[test]
    fn what_the_machine_did_not_tell() {
        let mut report = good();
        let told = |report: &Report| sides(report).into_iter().find(|(name, _)| *name == "unknown");
        assert_eq!(None, told(&report));

        (report.machine.steal_percent, report.machine.foreign_cpus) = (None, None);
        let (_, text) = told(&report).unwrap_or_default();
        assert!(
            text.starts_with("what the hypervisor gave to other machines; what other programs took: "),
            "{text}"
        );
    }

    #[test]
    fn how_early_a_run_was_ended() {
        let mut report = good();
        assert_eq!(None, interrupted(&report));

        report.interrupted = true;
        let why = |report: &Report| interrupted(report).unwrap_or_default();
        assert_eq!("interrupted after 6.0 of 6.0 s: the report is of these only", why(&report));
        (report.asked.requests, report.asked.duration_ms) = (Some(9_000), None);
        assert_eq!(
            "interrupted after 6.0 s, 6000 of 9000 requests: the report is of these only",
            why(&report)
        );
    }

    #[test]
    fn servers() {
        assert_eq!("http://a:1", server_of("http://a:1/b/c?d://e/"));
        assert_eq!("http://a", server_of("http://a"));
        assert_eq!("unix:/run/a.sock:", server_of("unix:/run/a.sock:/b/c?d=:/e"));
    }
}
