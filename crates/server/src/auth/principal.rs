//! The caller of a request, and the scopes that each path needs.

use axum::http::Method;
use jiff::Timestamp;
use memory::access::AccessScope;
use memory::{Scope, UserId};

/// Maximum streams of the owner. It is half of all connections, so that streams alone can't take them all.
pub(super) const OWNER_STREAMS_MAX: usize = 2_048;
/// Default maximum of streams for a named token: a few devices with a few windows each.
pub(super) const NAMED_STREAMS_MAX: usize = 16;

/// The caller of a request, with its rights. Handlers take it as an argument, so a path without authentication
/// answers 401.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Principal {
    /// The caller's name in the audit log.
    pub(crate) name: String,
    /// True if the caller may read the persona, its memory and the program's state, and change them if the method
    /// allows it.
    pub(crate) may_admin: bool,
    /// The only user that the token may act for; `None` for all.
    pub(crate) user: Option<UserId>,
    /// The scopes of the token; `None` for all rights.
    pub(crate) scopes: Option<Vec<AccessScope>>,
    /// The public part of a named token; `None` for the owner.
    pub(crate) prefix: Option<String>,
    /// Time at which the token expires.
    pub(crate) expires_at: Option<Timestamp>,
    pub(crate) streams_max: usize,
    /// Maximum users that it may create.
    pub(crate) users_max: Option<u32>,
    /// The login of a browser; `None` for a program with a token.
    pub(crate) login: Option<String>,
}

impl Principal {
    pub(crate) fn owner() -> Self {
        Self {
            name: "owner".to_owned(),
            may_admin: true,
            user: None,
            scopes: None,
            prefix: None,
            expires_at: None,
            streams_max: OWNER_STREAMS_MAX,
            users_max: None,
            login: None,
        }
    }

    /// True if the caller may see data of this scope.
    pub(crate) fn may_see(&self, scope: &Scope) -> bool {
        self.user.as_ref().is_none_or(|user| *user == scope.user)
    }

    /// True if the caller is the owner, by token or by login.
    pub(crate) fn is_owner(&self) -> bool {
        self.scopes.is_none()
    }

    pub(super) fn is_allowed(&self, needed: &[RequiredScope], method: &Method) -> bool {
        let Some(scopes) = &self.scopes else { return true };
        let is_read = matches!(*method, Method::GET | Method::HEAD);
        needed.iter().any(|needed| scopes.iter().any(|scope| needed.matches_scope(scope, is_read)))
    }
}

/// A kind of scope that opens a path.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum RequiredScope {
    Chat,
    Admin,
    Metrics,
    Openai,
    Hub,
}

impl RequiredScope {
    fn matches_scope(self, scope: &AccessScope, is_read: bool) -> bool {
        match self {
            Self::Chat => *scope == AccessScope::Chat || is_read && *scope == AccessScope::ChatRead,
            Self::Admin => *scope == AccessScope::Admin || is_read && *scope == AccessScope::AdminRead,
            Self::Metrics => *scope == AccessScope::Metrics,
            Self::Openai => *scope == AccessScope::Openai,
            Self::Hub => matches!(scope, AccessScope::Hub(_)),
        }
    }

    pub(super) fn as_str(self) -> &'static str {
        match self {
            Self::Chat => "chat",
            Self::Admin => "admin",
            Self::Metrics => "metrics",
            Self::Openai => "openai",
            Self::Hub => "hub:INSTANCE",
        }
    }
}

/// Scopes that open the paths below a prefix; any one of them is enough. Longer prefixes first.
const SCOPES_BY_PATH: [(&str, &[RequiredScope]); 6] = [
    ("/api/chat", &[RequiredScope::Chat]),
    ("/api/state", &[RequiredScope::Chat, RequiredScope::Admin]),
    ("/mcp", &[RequiredScope::Hub]),
    ("/metrics", &[RequiredScope::Metrics, RequiredScope::Admin]),
    ("/v1", &[RequiredScope::Openai, RequiredScope::Chat]),
    // All other paths: /api/admin, /api/hub, and any future ones.
    ("", &[RequiredScope::Admin]),
];

/// Scopes that open a path.
pub(super) fn scopes_for_path(path: &str) -> &'static [RequiredScope] {
    let path = path.trim_start_matches('/');
    let below = |root: &str| {
        let rest = path.strip_prefix(root.trim_start_matches('/'));
        root.is_empty() || rest.is_some_and(|rest| rest.is_empty() || rest.starts_with('/'))
    };
    SCOPES_BY_PATH.iter().find(|(root, _)| below(root)).map_or(&[RequiredScope::Admin], |(_, needed)| *needed)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_path_has_its_scope_also_those_to_come() {
        assert_eq!(scopes_for_path("/api/chat/send"), [RequiredScope::Chat]);
        assert_eq!(scopes_for_path("//api/chat"), [RequiredScope::Chat]);
        assert_eq!(scopes_for_path("/v1/models"), [RequiredScope::Openai, RequiredScope::Chat]);
        assert_eq!(scopes_for_path("/mcp"), [RequiredScope::Hub]);
        assert_eq!(scopes_for_path("/metrics"), [RequiredScope::Metrics, RequiredScope::Admin]);
        for path in
            ["/api/admin/stop", "/api/hub/conflicts", "/api/chatter", "/api/statement", "/api", "/api/new"]
        {
            assert_eq!(scopes_for_path(path), [RequiredScope::Admin], "{path}");
        }
    }

    #[test]
    fn a_scope_opens_its_own_paths_and_no_others() {
        let with = |scopes: &[&str]| Principal {
            scopes: Some(scopes.iter().map(|scope| scope.parse().unwrap()).collect()),
            ..Principal::owner()
        };
        assert!(with(&["chat"]).is_allowed(scopes_for_path("/v1/models"), &Method::GET));
        assert!(!with(&["openai"]).is_allowed(scopes_for_path("/api/chat/send"), &Method::GET));
        assert!(!with(&["admin"]).is_allowed(scopes_for_path("/api/chat/send"), &Method::GET));
        assert!(!with(&["chat", "openai", "hub:pi"]).is_allowed(scopes_for_path("/metrics"), &Method::GET));
        assert!(with(&["hub:pi"]).is_allowed(scopes_for_path("/mcp"), &Method::GET));
        let reads = with(&["chat:read", "admin:read"]);
        for path in ["/api/chat/history", "/api/chat/events", "/api/admin/config", "/metrics", "/v1/models"] {
            assert!(reads.is_allowed(scopes_for_path(path), &Method::GET), "{path}");
            assert!(!reads.is_allowed(scopes_for_path(path), &Method::POST), "{path}");
        }
        assert!(!with(&["chat:read"]).is_allowed(scopes_for_path("/api/admin/config"), &Method::GET));
        assert!(Principal::owner().is_allowed(scopes_for_path("/anything"), &Method::POST));
    }
}
