//! `echovessel init`: creates a home with a token and a `config.toml` that explains every key.

use std::fmt::Write as _;
use std::io::Write as _;

use anyhow::{Context as _, bail};

use crate::cli::{Init, SharedOptions};
use crate::config::{self, Config};
use crate::home::{Home, open_private};
use crate::system::random_bytes;

pub(crate) fn init(shared: &SharedOptions, home: &Home, asked: &Init) -> anyhow::Result<()> {
    home.create()?;
    let path = home.config();
    if path.exists() {
        bail!("{} already exists and was not changed", path.display());
    }
    let mut config = Config::default();
    if let Some(provider) = asked.provider {
        config.llm.provider = provider;
    }
    if let Some(base_url) = &asked.base_url {
        config.llm.base_url.clone_from(base_url);
    }
    if let Some(model) = &asked.model {
        config.llm.model.clone_from(model);
    }
    let text = explain_config(&config)?;
    open_private(&path, true)?
        .write_all(text.as_bytes())
        .with_context(|| format!("{} can't be written", path.display()))?;
    home.token(random_bytes)?;
    if shared.json {
        println!("{}", serde_json::json!({"home": home.folder(), "config": path}));
        return Ok(());
    }
    println!("Created {}", home.folder().display());
    println!("  config.toml   every key with its default value");
    println!("  token         the owner's token, for programs");
    println!(
        "Next: `echovessel run`. To give it a model, set [llm] provider and base_url in config.toml, or start"
    );
    println!(
        "Ollama or LM Studio: `auto` finds them. A cloud key is read from the environment, never from a file here."
    );
    Ok(())
}

/// The configuration as TOML, each key under its meaning; keys with their default are commented out.
fn explain_config(config: &Config) -> anyhow::Result<String> {
    let schema = serde_json::to_value(schemars::schema_for!(Config))?;
    let chosen = toml::Table::try_from(config)?;
    let mut defaults = config::known_keys()?;
    // A section may be in the file only once, and must not be interrupted by another.
    defaults.sort_by(|(one, _), (other, _)| section_of(one).cmp(section_of(other)));
    let mut text = String::from(
        "# EchoVessel. Every default works; a key that is commented out stands at its default.\n",
    );
    let mut section = String::new();
    for (key, default) in &defaults {
        let place = section_of(key);
        let name = key.rsplit('.').next().unwrap_or(key);
        if place != section {
            place.clone_into(&mut section);
            write!(text, "\n[{place}]\n")?;
        }
        if let Some(meaning) = meaning_of_key(&schema, place, name) {
            let waits = if config::is_live(key) { "" } else { " Needs a restart." };
            writeln!(text, "# {}{waits}", meaning.replace('\n', " "))?;
        }
        let value = place.split('.').try_fold(&chosen, |table, part| table.get(part)?.as_table());
        let value = value.and_then(|table| table.get(name)).unwrap_or(default);
        let mark = if value == default { "# " } else { "" };
        writeln!(text, "{mark}{name} = {value}")?;
    }
    Ok(text)
}

fn section_of(key: &str) -> &str {
    key.rsplit_once('.').map_or("", |(section, _)| section)
}

fn meaning_of_key(schema: &serde_json::Value, section: &str, key: &str) -> Option<String> {
    let mut place = schema;
    for part in section.split('.') {
        let reference = &place["properties"][part];
        let name = reference["$ref"].as_str()?.rsplit('/').next()?;
        place = &schema["$defs"][name];
    }
    Some(place["properties"][key]["description"].as_str()?.to_owned())
}

#[cfg(test)]
mod tests {
    use super::*;
    use llm::ProviderKind;

    #[test]
    fn the_written_file_is_a_configuration_and_explains_every_key() {
        let mut config = Config::default();
        config.llm.provider = ProviderKind::Offline;
        let text = explain_config(&config).unwrap();
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("config.toml");
        std::fs::write(&path, &text).unwrap();
        assert_eq!(config::load(&path, std::iter::empty()).unwrap(), config);
        assert!(text.contains("\nprovider = \"offline\"\n"), "{text}");
        for (key, _) in config::known_keys().unwrap() {
            let name = key.rsplit('.').next().unwrap().to_owned();
            let line = text
                .lines()
                .position(|line| line.trim_start_matches("# ").starts_with(&format!("{name} = ")));
            let line = line.unwrap_or_else(|| panic!("{key} is missing"));
            assert!(text.lines().nth(line - 1).unwrap().starts_with("# "), "{key} is not explained");
        }
    }
}
