//! The JSON of NGINX Unit: listeners, routes, applications, settings.
//!
//! Unit tries routes in their order; here the most specific path counts. `order.rs` has each request answered by the
//! same step as in Unit, or notes a loss if another step answers.

mod action;
mod config;
mod matching;
mod order;
mod settings;

use std::sync::Arc;

use crate::model::{Draft, Mistake, Place, Site};
use crate::text::literal::{Cursor, Dialect, Node};
use action::Steps;
use config::Unit;
use matching::Condition;
use order::Step;

/// Reads a file.
pub(crate) fn read(file: &Arc<str>, text: &str, draft: &mut Draft) -> Result<(), Mistake> {
    let mistake =
        |line, what: &str| Mistake { place: Place { file: Arc::clone(file), line }, what: what.to_owned() };
    let root = Cursor::new(text, Dialect::Json).whole().map_err(|(line, what)| mistake(line, what))?;
    // The file may be a dump of the whole API, in which the configuration is one level deeper, at `config`.
    let root = root.find("config").unwrap_or(&root);
    let unit = Unit::new(root, file);
    let Some(listeners) = root.find("listeners").filter(|node| !node.pairs().is_empty()) else {
        return Err(mistake(1, "there are no listeners in it"));
    };
    let pass = listen(&unit, listeners, draft);
    let mut steps = Steps::new(&unit);
    steps.pass(&pass, &Condition::default(), &unit.place(listeners), 0, draft);
    let steps = steps.all;
    sites(&steps, &unit.place(listeners), draft);
    settings::read(&unit, draft);
    for (name, node) in root.pairs() {
        if !["listeners", "routes", "applications", "settings", "access_log", "upstreams"]
            .contains(&name.as_str())
        {
            draft.lose(&unit.place(node), name, "this is not known here");
        }
    }
    Ok(())
}

/// Reads the listeners; returns their `pass`, which has to be the same for all of them here.
fn listen(unit: &Unit<'_>, listeners: &Node, draft: &mut Draft) -> String {
    let mut pass: Option<String> = None;
    for (address, node) in listeners.pairs() {
        let place = unit.place(node);
        let to = node.find("pass").and_then(Node::text).unwrap_or_default().to_owned();
        if pass.as_ref().is_some_and(|pass| *pass != to) {
            let why = "here addresses do not tell sites apart; this listener needs a file of sites, and a server, of its own";
            draft.lose(&place, &format!("listener {address}"), why);
            continue;
        }
        pass = Some(to);
        if node.find("forwarded").is_some() || node.find("client_ip").is_some() {
            let why = "here a client's address is that of the proxy in front, so conditions on source would see the proxy";
            draft.refuse_all(&place, &format!("listener {address}: forwarded"), why);
        }
        if node.find("tls").is_some() {
            let why = "TLS is the work of a proxy in front; without another address the server is at 127.0.0.1:8000";
            draft.lose(&place, &format!("listener {address}: tls"), why);
        } else {
            let bind =
                address.strip_prefix('*').map_or_else(|| address.clone(), |rest| format!("0.0.0.0{rest}"));
            draft.server.add("bind", &bind, &place);
        }
    }
    pass.unwrap_or_default()
}

/// Makes a site for each host that a step names, and one for all others, each with the steps for it.
fn sites(steps: &[Step], place: &Place, draft: &mut Draft) {
    let mut hosts: Vec<String> = Vec::new();
    for host in steps.iter().flat_map(|step| &step.condition.hosts) {
        if !hosts.contains(host) {
            hosts.push(host.clone());
        }
    }
    // The first site is for all other names.
    let mut names = vec![None];
    names.extend(hosts.into_iter().map(Some));
    for name in names {
        let own: Vec<Step> =
            steps.iter().filter(|step| step.condition.is_for_host(name.as_deref())).cloned().collect();
        let mut site =
            Site { place: Some(place.clone()), hosts: name.into_iter().collect(), ..Site::default() };
        site.routes = order::routes(own, draft);
        draft.sites.push(site);
    }
}
