//! Keys that can't be changed with a token. This is the only table, for all sections.

use server::ConfigAuthor;

/// Right that is needed to change a key while the daemon runs.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Protection {
    /// Anybody with the right to administer.
    Open,
    /// The owner. The key limits what others may do, or what is recorded of them.
    Owner,
    /// The owner, logged in with a browser. The key names a host that receives texts, or a secret sent to it.
    Login,
    /// Nobody over HTTP; only those who can write the file. The key names a program to run, a secret in the
    /// environment, or the database.
    File,
}

/// Protection of keys by the last part of their name.
const PROTECTED_KEY_ENDINGS: [(&str, Protection); 9] = [
    ("_env", Protection::File),
    ("_command", Protection::File),
    (".command", Protection::File),
    ("_file", Protection::File),
    ("storage.url", Protection::File),
    ("storage.files", Protection::File),
    ("server.advertise", Protection::File),
    ("_url", Protection::Login),
    (".url", Protection::Login),
];
/// Sections that only the owner may change.
const PROTECTED_SECTIONS: [(&str, Protection); 3] =
    [("limits.", Protection::Owner), ("server.", Protection::Owner), ("trace.", Protection::Owner)];

impl Protection {
    pub(crate) fn from_key(key: &str) -> Self {
        let by_name = PROTECTED_KEY_ENDINGS.iter().find(|(end, _)| key.ends_with(end));
        let by_section = PROTECTED_SECTIONS.iter().find(|(section, _)| key.starts_with(section));
        by_name.or(by_section).map_or(Self::Open, |(_, protection)| *protection)
    }

    /// The reason why this author may not change the key; `None` if they may.
    pub(crate) fn refusal(self, key: &str, author: ConfigAuthor) -> Option<String> {
        let (least, reason) = match self {
            Self::Open => (ConfigAuthor::NamedToken, ""),
            Self::Owner => (
                ConfigAuthor::OwnerToken,
                "can be changed only by the owner, not with a named \
                token",
            ),
            Self::Login => (
                ConfigAuthor::Login,
                "decides who receives your messages, so no token can change it. Sign in to the web UI, or \
                    set it in config.toml",
            ),
            Self::File => {
                let reason = "names a program, a secret or a path on this machine: set it in config.toml";
                return Some(format!("{key} {reason}. Nothing was changed"));
            }
        };
        (author < least).then(|| format!("{key} {reason}. Nothing was changed"))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::config::known_keys;

    #[test]
    fn every_key_that_could_carry_a_secret_away_is_protected() {
        for (key, _) in known_keys().unwrap() {
            let protection = Protection::from_key(&key);
            if ["env", "command", "program"].iter().any(|word| key.contains(word)) {
                assert_eq!(protection, Protection::File, "{key}");
            }
            if ["url", "host", "address", "endpoint", "_env", "_file", "_command"]
                .iter()
                .any(|word| key.contains(word))
            {
                assert_ne!(protection, Protection::Open, "{key}");
            }
        }
        for (key, protection) in [
            ("llm.base_url", Protection::Login),
            ("llm.api_key_env", Protection::File),
            ("embedding.base_url", Protection::Login),
            ("voice.tts_base_url", Protection::Login),
            ("voice.stt_command", Protection::File),
            ("storage.url", Protection::File),
            ("storage.password_file", Protection::File),
            ("storage.files", Protection::File),
            ("server.advertise", Protection::File),
            ("sync.url", Protection::Login),
            ("channels.discord.token_env", Protection::File),
            ("limits.burst", Protection::Owner),
            ("trace.keep", Protection::Owner),
            ("recall.k", Protection::Open),
        ] {
            assert_eq!(Protection::from_key(key), protection, "{key}");
        }
    }

    #[test]
    fn settings_have_the_right_protection() {
        use ConfigAuthor::{Login, NamedToken, OwnerToken};
        for (protection, author, may) in [
            (Protection::Open, NamedToken, true),
            (Protection::Owner, NamedToken, false),
            (Protection::Owner, OwnerToken, true),
            (Protection::Login, OwnerToken, false),
            (Protection::Login, Login, true),
            (Protection::File, Login, false),
        ] {
            assert_eq!(protection.refusal("key", author).is_none(), may, "{protection:?} {author:?}");
        }
    }
}
