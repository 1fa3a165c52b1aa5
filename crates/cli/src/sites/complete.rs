//! Makes what is served of a file: settings of sites and routes, applications, folders that exist.

use std::path::{Path, PathBuf};

use super::document::{Document, Given, RouteTable};
use super::mistake::{Lines, Mistake, failure};
use crate::failure::Failure;
use crate::rows::ROWS;
use crate::settings::{AppTarget, Interface, Settings, Site, SiteAction, SiteRoute, Sites};
use crate::target::{Target, barred, did_you_mean, is_absent, look_for_page};

/// What `redirect-status` is unless it is given.
const REDIRECT_STATUS: u16 = 307;

/// What `content-type` is unless it is given.
const CONTENT_TYPE: &str = "text/plain; charset=utf-8";

impl Document {
    /// What it says that is served, beneath the settings of its server.
    ///
    /// # Errors
    ///
    /// All applications and folders that do not exist, as [`Document::read`] tells mistakes.
    pub(crate) fn complete(
        self,
        (file, place): (&Path, PathBuf),
        text: String,
        settings: &Settings,
    ) -> Result<Sites, Failure> {
        let base = settings.chdir.clone().unwrap_or_else(|| ".".into());
        let mut made = Maker { base, apps: Vec::new(), mistakes: Vec::new() };
        let lines = Lines::new(&text);
        let mut sites = Vec::new();
        for site in self.sites {
            let of_site = with(settings, &site.given);
            let root = site.draft.root.unwrap_or_default();
            let mut routes = Vec::new();
            for route in site.routes {
                let of_route = with(&of_site, &route.given);
                let line = lines.line(route.at);
                routes.extend(made.route(route, &root, of_route, line));
            }
            let line = lines.line(site.at);
            sites.push(Site { hosts: site.draft.hosts, routes, settings: of_site, line });
        }
        if made.mistakes.is_empty() {
            Ok(Sites { file: file.to_owned(), sites, apps: made.apps, text, place })
        } else {
            Err(failure(file, &lines, made.mistakes))
        }
    }
}

/// The settings with what a table says.
fn with(settings: &Settings, given: &Given) -> Settings {
    let mut settings = settings.clone();
    for (index, values) in given {
        for value in values {
            // It was applied to other settings before, and does not depend on them.
            let applied = ROWS[*index].apply(&mut settings, value);
            debug_assert_eq!(Ok(()), applied);
        }
    }
    settings
}

/// What gathers the applications of a file, and what is not there.
struct Maker {
    base: PathBuf,
    apps: Vec<AppTarget>,
    mistakes: Vec<Mistake>,
}

impl Maker {
    fn route(
        &mut self,
        route: RouteTable,
        root: &Path,
        settings: Settings,
        line: usize,
    ) -> Option<SiteRoute> {
        let RouteTable { draft, action_at, .. } = route;
        let action = match (draft.app, draft.handler, draft.files, draft.redirect, draft.respond) {
            (Some(app), ..) => self.app(action_at, app, settings.interface, settings.factory)?,
            (_, Some(handler), ..) => self.app(action_at, handler, Interface::Handler, settings.factory)?,
            (_, _, Some(files), ..) => self.files(action_at, &root.join(files), &settings)?,
            (_, _, _, Some(location), _) => {
                SiteAction::Redirect(draft.redirect_status.unwrap_or(REDIRECT_STATUS), location)
            }
            (.., Some(status)) => match draft.body {
                Some(body) => SiteAction::Text {
                    status,
                    content_type: draft.content_type.unwrap_or_else(|| CONTENT_TYPE.to_owned()),
                    body,
                },
                None => SiteAction::Status(status),
            },
            // That was a mistake when the file was read.
            _ => return None,
        };
        Some(SiteRoute {
            paths: draft.paths,
            when: draft.when,
            allow: draft.allow,
            deny: draft.deny,
            allow_replaces_password: draft.allow_replaces_password,
            edits: draft.edits,
            is_mounted: draft.is_mounted,
            action,
            settings,
            line,
        })
    }

    fn app(&mut self, at: usize, text: String, interface: Interface, factory: bool) -> Option<SiteAction> {
        let target = match Target::find(&text, &self.base) {
            Ok(Target::Folder(folder)) => {
                let what = format!("{} is a folder; files = serves one", folder.display());
                self.mistakes.push(Mistake { at, what });
                return None;
            }
            Ok(target) => target,
            Err(failure) => {
                self.mistakes.push(Mistake { at, what: failure.message });
                return None;
            }
        };
        let app = AppTarget { text, target, interface, factory };
        let known = self.apps.iter().position(|other| *other == app);
        Some(SiteAction::App(known.unwrap_or_else(|| {
            self.apps.push(app);
            self.apps.len() - 1
        })))
    }

    fn files(&mut self, at: usize, folder: &Path, settings: &Settings) -> Option<SiteAction> {
        let place = self.base.join(folder);
        let mut wrong = |what: String| self.mistakes.push(Mistake { at, what });
        if !place.is_dir() && !is_absent(&place) {
            let shown = folder.display();
            wrong(match barred(&place) {
                Some(why) => format!("{shown} cannot be looked at: {why}"),
                None => format!("{shown} is no folder{}", did_you_mean(folder, &self.base)),
            });
            return None;
        }
        for (name, page) in
            [("static-404", &settings.static_404), ("static-fallback", &settings.static_fallback)]
        {
            if let Some(page) = page
                && let Some(what) = look_for_page(name, page, std::slice::from_ref(&place))
            {
                wrong(what);
                return None;
            }
        }
        Some(SiteAction::Files(folder.to_owned()))
    }
}
