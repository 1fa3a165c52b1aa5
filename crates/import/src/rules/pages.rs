//! Pages for errors, as files of sites have them.

use crate::model::{Draft, Key, Loss, Mistake, Place, Route, Value, shown};
use crate::text::include::Includes;

/// Ends of the names of files that are sent as they are.
pub(crate) const ENDS: [&str; 6] = ["html", "htm", "xhtml", "txt", "json", "xml"];

/// Has a folder answer with a page for missing files, if the page is a file of that folder.
pub(crate) fn missing(route: &mut Route, file: &str, place: &Place) {
    let Some(Value::Text(folder)) = route.keys.get("files").map(|key| key.value.clone()) else { return };
    let inside = file.strip_prefix(folder.trim_end_matches('/')).and_then(|rest| rest.strip_prefix('/'));
    let others = ["try", "static-fallback", "static-fall-through", "static-404"];
    if let Some(inside) = inside.filter(|_| !others.iter().any(|name| route.keys.has(name))) {
        route.keys.set("static-404", inside, place);
    }
}

/// Leaves out pages that do not exist: other servers go on without them, and a file of sites would be wrong.
pub(crate) fn without_absent(draft: &mut Draft, includes: &mut Includes<'_>) -> Result<(), Mistake> {
    for site in &mut draft.sites {
        let found = site.keys.0.iter_mut().find(|key| key.name == "error-pages");
        let Some(Key { value: Value::Pairs(pairs), place, .. }) = found else { continue };
        let mut kept = Vec::new();
        for (status, file) in std::mem::take(pairs) {
            if is_there(&file, place, includes)? {
                kept.push((status, file));
                continue;
            }
            site.routes.iter_mut().for_each(|route| without(route, &file));
            let what = format!("page {}", shown(&status));
            let why = format!("there is no file {file}, or it cannot be read");
            draft.losses.push(Loss { place: place.clone(), what, why, opens: false });
        }
        *pairs = kept;
        site.keys.0.retain(|key| !matches!(&key.value, Value::Pairs(pairs) if pairs.is_empty()));
    }
    Ok(())
}

/// Removes a page that `missing` has set.
fn without(route: &mut Route, file: &str) {
    let text = |name| match route.keys.get(name).map(|key| &key.value) {
        Some(Value::Text(text)) => text.trim_end_matches('/'),
        _ => "",
    };
    if file == format!("{}/{}", text("files"), text("static-404")) {
        route.keys.0.retain(|key| key.name != "static-404");
    }
}

fn is_there(file: &str, place: &Place, includes: &mut Includes<'_>) -> Result<bool, Mistake> {
    // The bracket makes the name a pattern, so the file may be absent. All these names end in a letter.
    let Some((front, last)) = file.split_at_checked(file.len().saturating_sub(1)) else { return Ok(false) };
    if file.contains(['*', '?', '[']) {
        return Ok(false);
    }
    let Ok(found) = includes.find(&format!("{front}[{last}]"), place) else { return Ok(false) };
    for one in &found {
        includes.begin(&one.name.clone().into(), &one.text)?;
        includes.end();
    }
    Ok(!found.is_empty())
}
