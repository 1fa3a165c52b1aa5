//! Looks into a store at chosen times, and the results.

use std::sync::Arc;

use adyton_cache::{Answer, Ask, Audience, End, Entry, Fill, Found, Store, Terms};
use adyton_http1::{Head, Limits, Parsed};

/// Looks for an answer as a client with these fields does.
fn look(store: &mut Store<u32>, key: &str, fields: &str, now_ms: u64) -> Found {
    let head = format!("GET / HTTP/1.1\r\nHost: a\r\n{fields}\r\n");
    let mut parsed = Head::new();
    assert_eq!(Ok(Parsed::Complete), parsed.parse(head.as_bytes(), &Limits::default()), "{head}");
    let audience = if fields.contains("Cookie") { Audience::WithCookies } else { Audience::Plain };
    let ask = Ask { key: key.as_bytes(), form: 0, request: parsed.of(head.as_bytes()), audience };
    store.look(&ask, now_ms, true)
}

/// The result of a look in a word, and the body of the answer that was found.
fn shown(found: &Found) -> String {
    let body = |entry: &Arc<Entry>| String::from_utf8_lossy(&entry.answer.body).into_owned();
    match found {
        Found::Fresh(entry) => format!("fresh {}", body(entry)),
        Found::Stale(entry) => format!("stale {}", body(entry)),
        Found::Fill(_, None) => "fill".to_owned(),
        Found::Fill(_, Some(entry)) => format!("fill {}", body(entry)),
        Found::Wait(_) => "wait".to_owned(),
        Found::Pass => "pass".to_owned(),
    }
}

fn fill(found: Found) -> Option<Fill> {
    if let Found::Fill(fill, _) | Found::Wait(fill) = found { Some(fill) } else { None }
}

fn answer(body: &str) -> Answer {
    Answer { status: 200, body: body.as_bytes().to_vec(), ..Answer::default() }
}

fn terms(fresh_ms: u64, vary: &[&str]) -> Terms {
    let vary = vary.iter().map(|name| name.as_bytes().into()).collect();
    Terms { fresh_ms, vary, ..Terms::default() }
}

/// Fetches an answer and puts it into the store.
fn keep(store: &mut Store<u32>, key: &str, fields: &str, body: &str, terms: Terms, now_ms: u64) {
    let found = look(store, key, fields, now_ms);
    assert!(matches!(found, Found::Fill(..)), "{}", shown(&found));
    if let Some(fill) = fill(found) {
        store.end(&fill, End::Kept(answer(body), terms), now_ms);
    }
}

/// An answer is fresh for its time. Then one client renews it, and the others get the stale answer for a while longer.
#[test]
fn over_time() {
    let mut store = Store::new(1 << 20);
    keep(&mut store, "a", "", "one", Terms { revalidate_ms: 50, ..terms(100, &[]) }, 1000);
    assert_eq!("fresh one", shown(&look(&mut store, "a", "", 1099)));
    let renewal = look(&mut store, "a", "", 1100);
    assert_eq!("fill one", shown(&renewal));
    assert_eq!("stale one", shown(&look(&mut store, "a", "", 1149)));
    assert_eq!("wait", shown(&look(&mut store, "a", "", 1150)));
    let Some(renewal) = fill(renewal) else { return };
    store.end(&renewal, End::Kept(answer("two"), terms(100, &[])), 1160);

    assert_eq!("fresh two", shown(&look(&mut store, "a", "", 1259)));
    assert_eq!(1, store.len());
}

/// However a fetch ends, all waiting clients are given back, and their next look finds the result of the fetch.
#[test]
fn ends() {
    let kept = || End::Kept(answer("one"), terms(100, &[]));
    for (end, expected) in [
        (kept(), "fresh one"),
        (End::NotKept { pass_ms: 10 }, "pass"),
        (End::Failed, "fill"),
        (End::Kept(answer(&"x".repeat(70_000)), terms(100, &[])), "fill"),
    ] {
        let mut store = Store::new(1 << 20);
        let Some(first) = fill(look(&mut store, "a", "", 0)) else { return };
        for who in 0..3 {
            let waits = fill(look(&mut store, "a", "", 0));
            assert!(waits.is_some_and(|fill| store.join(&fill, who)));
        }

        assert_eq!(vec![0, 1, 2], store.end(&first, end, 0), "{expected}");
        assert!(!store.join(&first, 4));
        assert_eq!(expected, shown(&look(&mut store, "a", "", 9)));
    }
}

/// The note that answers are not kept is forgotten after its time.
#[test]
fn passing_has_an_end() {
    let mut store = Store::<u32>::new(1 << 20);
    let Some(first) = fill(look(&mut store, "a", "", 0)) else { return };
    store.end(&first, End::NotKept { pass_ms: 10 }, 0);

    assert_eq!("pass", shown(&look(&mut store, "a", "", 9)));
    assert_eq!("fill", shown(&look(&mut store, "a", "", 10)));
}

/// No client waits for a fetch that takes too long. The first of the two answers is kept, and all waiting clients are
/// given back.
#[test]
fn a_fetch_that_lasts() {
    let mut store = Store::new(1 << 20);
    let Some(first) = fill(look(&mut store, "a", "", 0)) else { return };
    assert!(store.join(&first, 7));
    assert_eq!("wait", shown(&look(&mut store, "a", "", 4999)));
    let second = look(&mut store, "a", "", 5000);
    assert_eq!("fill", shown(&second));
    let Some(second) = fill(second) else { return };
    assert_eq!(Vec::<u32>::new(), store.end(&first, End::Failed, 5001));
    assert_eq!(vec![7], store.end(&first, End::Kept(answer("one"), terms(100, &[])), 5002));
    assert_eq!(Vec::<u32>::new(), store.end(&second, End::Kept(answer("two"), terms(100, &[])), 5003));

    assert_eq!("fresh one", shown(&look(&mut store, "a", "", 5004)));
}

/// Each value of the fields on which answers depend has its own answer. A new field in `Vary` drops the earlier
/// answers.
#[test]
fn forms() {
    let mut store = Store::new(1 << 20);
    keep(&mut store, "a", "L: de\r\n", "de", terms(100, &["l"]), 0);
    keep(&mut store, "a", "l: en\r\n", "en", terms(100, &["l"]), 0);
    assert_eq!("fresh de", shown(&look(&mut store, "a", "L: de\r\nM: x\r\n", 1)));
    assert_eq!("fresh en", shown(&look(&mut store, "a", "L: en\r\n", 1)));
    keep(&mut store, "a", "M: x\r\n", "x", terms(100, &["m"]), 1);

    assert_eq!("fresh x", shown(&look(&mut store, "a", "M: x\r\n", 2)));
    assert_eq!("fill", shown(&look(&mut store, "a", "L: de\r\n", 2)));
    assert_eq!("fill", shown(&look(&mut store, "a", "L: d\r\nL: e\r\n", 2)));
    assert_eq!("fill", shown(&look(&mut store, "a", "L: d, e\r\n", 2)));
}

/// An answer that only the route wants kept is given only to clients without cookies.
#[test]
fn guesses() {
    let mut store = Store::new(1 << 20);
    keep(&mut store, "a", "", "plain", Terms { is_guess: true, ..terms(100, &[]) }, 0);
    keep(&mut store, "b", "", "all", terms(100, &[]), 0);

    assert_eq!("fill", shown(&look(&mut store, "a", "Cookie: a\r\n", 1)));
    assert_eq!("fresh plain", shown(&look(&mut store, "a", "", 1)));
    assert_eq!("fresh all", shown(&look(&mut store, "b", "Cookie: a\r\n", 1)));
}

/// After a change, kept answers are forgotten, and answers that were being fetched are not kept.
#[test]
fn changes() {
    let mut store = Store::new(1 << 20);
    keep(&mut store, "a", "", "one", terms(100, &[]), 0);
    keep(&mut store, "ab", "", "other", terms(100, &[]), 0);
    assert_eq!(Vec::<u32>::new(), store.invalidate(b"a"));
    let Some(fetch) = fill(look(&mut store, "a", "", 1)) else { return };
    assert!(store.join(&fetch, 3));
    assert_eq!(vec![3], store.invalidate(b"a"));
    store.end(&fetch, End::Kept(answer("old"), terms(100, &[])), 2);

    assert_eq!("fill", shown(&look(&mut store, "a", "", 3)));
    assert_eq!("fresh other", shown(&look(&mut store, "ab", "", 3)));
}

/// The bytes of a store, with everything that belongs to an answer, have a limit, and the least recently used answers
/// are evicted first. The number of forms has a limit, too.
#[test]
fn bounds() {
    let mut store = Store::new(100_000);
    for number in 0..1000 {
        let key = format!("key {number}");
        keep(&mut store, &key, "", &"x".repeat(number), terms(10_000, &[]), number as u64);
        assert!(store.bytes() <= 100_000);
        let first = look(&mut store, "key 0", "", number as u64);
        assert_eq!("fresh ", shown(&first), "{number}");
    }
    assert!((60..120).contains(&store.len()), "{}", store.len());
    assert_eq!(1000 - store.len() as u64, store.evictions());
    for number in 0..1000 {
        let name = format!("L: {number}\r\n");
        keep(&mut store, "forms", &name, "x", terms(10_000, &["l"]), 1000);
    }
    assert_eq!("fill", shown(&look(&mut store, "forms", "L: 930\r\n", 1001)));
    assert_eq!("fresh x", shown(&look(&mut store, "forms", "L: 940\r\n", 1001)));
    store.clear();

    assert!(store.is_empty() && store.bytes() == 0);
    keep(&mut store, "key 0", "", "new", terms(100, &[]), 0);
    assert_eq!("fresh new", shown(&look(&mut store, "key 0", "", 1)));
}
