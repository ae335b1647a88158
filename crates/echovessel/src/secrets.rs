//! `secrets.toml` in the home: keys that the owner entered in the web UI, each for one address.
//!
//! Only the owner can read the file. Backups, exports and responses do not contain it.

use std::collections::BTreeMap;
use std::io;

use anyhow::Context as _;
use reqwest::Url;
use secrecy::{ExposeSecret as _, SecretString};
use serde::{Deserialize, Serialize, Serializer};

use crate::home::{Home, replace_file};

/// The language model's key.
pub(crate) const MODEL_KEY: &str = "llm";
/// Characters of a key to show: enough to tell two keys apart.
const SHOWN_LENGTH: usize = 4;
/// Minimum length of a key of which characters are shown: for a shorter key they would make the rest easy to guess.
const SHOWN_KEY_LENGTH_MIN: usize = 16;

/// All keys of a home, by purpose and by the address they are sent to (scheme, host and port).
#[derive(Clone, Debug, Default, Deserialize, Serialize)]
pub(crate) struct Secrets(BTreeMap<String, BTreeMap<String, EnteredKey>>);

/// A key that was entered in the web UI for one address.
#[derive(Clone, Debug, Default, Deserialize, Serialize)]
#[serde(default)]
pub(crate) struct EnteredKey {
    #[serde(skip_serializing_if = "Option::is_none", serialize_with = "serialize_secret")]
    pub(crate) key: Option<SecretString>,
    /// True if the address was chosen in the web UI. Then no environment variable is sent to it.
    pub(crate) is_chosen: bool,
}

fn serialize_secret<S: Serializer>(key: &Option<SecretString>, serializer: S) -> Result<S::Ok, S::Error> {
    key.as_ref().map(|key| key.expose_secret()).serialize(serializer)
}

impl Secrets {
    /// Reads the keys of this home; the result is empty without a file.
    ///
    /// # Errors
    ///
    /// If the file can't be read or has an unknown form.
    pub(crate) fn load(home: &Home) -> anyhow::Result<Self> {
        let path = home.secrets();
        let text = match std::fs::read_to_string(&path) {
            Ok(text) => text,
            Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(Self::default()),
            Err(error) => return Err(error).with_context(|| format!("{} can't be read", path.display())),
        };
        // The parser's own error may quote a key.
        toml::from_str(&text).map_err(|_| {
            anyhow::anyhow!(
                "{} can't be read: it is damaged. Delete it and enter the keys again",
                path.display()
            )
        })
    }

    /// Writes the keys in one step. Without keys the file is deleted.
    pub(crate) fn save(&self, home: &Home) -> anyhow::Result<()> {
        let path = home.secrets();
        if self.0.is_empty() {
            return match std::fs::remove_file(&path) {
                Err(error) if error.kind() != io::ErrorKind::NotFound => {
                    Err(error).with_context(|| format!("{} can't be deleted", path.display()))
                }
                _ => Ok(()),
            };
        }
        let text = toml::to_string(self).context("the keys can't be written")?;
        replace_file(&path, text.as_bytes()).with_context(|| format!("{} can't be written", path.display()))
    }

    /// The key that was entered for this address.
    pub(crate) fn entered_key(&self, name: &str, address: &Url) -> EnteredKey {
        self.0
            .get(name)
            .and_then(|addresses| addresses.get(&url_origin(address)))
            .cloned()
            .unwrap_or_default()
    }

    /// Replaces the key that was entered for this address.
    pub(crate) fn set(&mut self, name: &str, address: &Url, entered: EnteredKey) {
        self.0.entry(name.to_owned()).or_default().insert(url_origin(address), entered);
    }

    /// Deletes the keys of this name, for every address.
    pub(crate) fn remove(&mut self, name: &str) {
        self.0.remove(name);
    }
}

fn url_origin(address: &Url) -> String {
    address.origin().ascii_serialization()
}

/// The end of a key, by which its owner recognises it; empty for a short key.
pub(crate) fn shown_end(key: &SecretString) -> String {
    let letters: Vec<char> = key.expose_secret().chars().collect();
    let hidden =
        if letters.len() < SHOWN_KEY_LENGTH_MIN { letters.len() } else { letters.len() - SHOWN_LENGTH };
    letters[hidden..].iter().collect()
}

#[cfg(test)]
mod tests {
    use std::os::unix::fs::PermissionsExt as _;

    use super::*;

    fn url(address: &str) -> Url {
        address.parse().unwrap()
    }

    #[test]
    fn key_goes_only_to_the_address_for_which_it_was_entered() {
        let folder = tempfile::tempdir().unwrap();
        let home = Home::locate(Some(folder.path().to_owned())).unwrap();
        let mut secrets = Secrets::load(&home).unwrap();
        let key = Some("sk-0123456789abcdef".into());
        secrets.set(MODEL_KEY, &url("https://one.test/v1"), EnteredKey { key, is_chosen: false });
        secrets.set(MODEL_KEY, &url("https://two.test/v1"), EnteredKey { key: None, is_chosen: true });
        secrets.save(&home).unwrap();
        let mode = std::fs::metadata(home.secrets()).unwrap().permissions().mode();
        assert_eq!(mode & 0o777, 0o600);

        let mut secrets = Secrets::load(&home).unwrap();
        let end = |address: &str| secrets.entered_key(MODEL_KEY, &url(address)).key.as_ref().map(shown_end);
        assert_eq!(end("https://one.test:443/other").as_deref(), Some("cdef"));
        assert!(secrets.entered_key(MODEL_KEY, &url("https://two.test")).is_chosen);
        for other in ["http://one.test/v1", "https://one.test:444/v1", "https://one.test.evil.test/v1"] {
            assert_eq!(end(other), None, "{other}");
        }
        secrets.set(MODEL_KEY, &url("https://one.test"), EnteredKey::default());
        secrets.save(&home).unwrap();
        assert!(!std::fs::read_to_string(home.secrets()).unwrap().contains("cdef"));
        assert!(Secrets::load(&home).unwrap().entered_key(MODEL_KEY, &url("https://one.test")).key.is_none());
    }

    #[test]
    fn file_that_was_broken_says_so_without_its_words() {
        let folder = tempfile::tempdir().unwrap();
        let home = Home::locate(Some(folder.path().to_owned())).unwrap();
        std::fs::write(home.secrets(), "[llm]\nkey = \"sk-very-secret").unwrap();
        let error = format!("{:#}", Secrets::load(&home).unwrap_err());
        assert!(error.contains("secrets.toml") && !error.contains("sk-very"), "{error}");
    }

    #[test]
    fn short_key_shows_nothing() {
        assert_eq!(shown_end(&"abc".into()), "");
        assert_eq!(shown_end(&"sk-0123456789-钥匙钥匙".into()), "钥匙钥匙");
    }
}
