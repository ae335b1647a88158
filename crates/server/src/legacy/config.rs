//! Sections of the configuration that clients of the earlier API read, and its names of keys in changes.

use std::collections::BTreeMap;

use schemars::JsonSchema;
use serde_json::{Map, Value, json};

use crate::ports::model_setup::KeySource;
use crate::problem::Problem;
use crate::state::App;

/// Earlier names of keys.
const EARLIER_KEYS: [(&str, &str); 4] = [
    ("memory.retrieve_k", "recall.k"),
    ("memory.recent_window_size", "recall.recent_window"),
    ("memory.relational_bonus_weight", "recall.weight_relational"),
    ("llm.timeout_seconds", "llm.timeout"),
];
/// Units in which a duration is shown, in milliseconds.
const UNITS: [(&str, u64); 5] = [("ms", 1), ("s", 1_000), ("m", 60_000), ("h", 3_600_000), ("d", 86_400_000)];
/// Earlier names of providers.
const EARLIER_PROVIDERS: [(&str, &str); 2] = [("openai_compat", "openai"), ("stub", "offline")];

#[derive(JsonSchema)]
#[expect(dead_code, reason = "describes what `add_sections` adds")]
pub(crate) struct LegacySections {
    #[schemars(skip_serializing_if = "Option::is_none")]
    llm: Option<Map<String, Value>>,
    #[schemars(skip_serializing_if = "Option::is_none")]
    persona: Option<Map<String, Value>>,
    #[schemars(skip_serializing_if = "Option::is_none")]
    memory: Option<Map<String, Value>>,
    #[schemars(skip_serializing_if = "Option::is_none")]
    consolidate: Option<Map<String, Value>>,
    #[schemars(skip_serializing_if = "Option::is_none")]
    system: Option<BTreeMap<String, SystemValue>>,
    #[schemars(skip_serializing_if = "Option::is_none")]
    channels: Option<Map<String, Value>>,
}

#[derive(JsonSchema)]
#[serde(untagged)]
#[expect(dead_code, reason = "describes what `add_sections` adds")]
enum SystemValue {
    Text(String),
    Number(i64),
    Unset(()),
}

/// Adds the earlier sections to `config`, which has `settings`. Fields of channels that do not exist any more are
/// empty, 0 or false.
pub(crate) async fn add_sections(app: &App, config: &mut Value) -> Result<(), Problem> {
    let settings = Settings(&config["settings"]);
    let appearance = app.runtime().store().persona_appearance(&app.runtime().settings().persona).await?;
    let Value::Object(sections) = json!({
        "llm": llm(app, settings).await,
        "persona": {
            "display_name": settings.value("persona.display_name"), "voice_enabled": appearance.voice_enabled,
            "voice_id": appearance.voice_id,
        },
        "memory": {
            "retrieve_k": settings.value("recall.k"),
            "relational_bonus_weight": settings.value("recall.weight_relational"),
            "recent_window_size": settings.value("recall.recent_window"),
        },
        "consolidate": {
            "trivial_message_count": settings.value("consolidate.trivial_message_count"),
            "trivial_token_count": settings.value("consolidate.trivial_token_count"),
            "reflection_hard_gate_24h": settings.value("consolidate.reflection_hard_gate_24h"),
        },
        "system": system(app).await,
        "channels": {
            "web": web_section(app, settings),
            "telegram": bot(app, settings, "telegram").await,
            "discord": bot(app, settings, "discord").await,
            "imessage": {
                "enabled": false, "channel_id": "imessage", "persona_apple_id": "", "cli_path": "",
                "db_path": "", "allowed_handles": [], "default_service": "", "region": "",
                "debounce_ms": 0, "ready": false, "registered": false,
            },
        },
    }) else {
        return Ok(());
    };
    if let Some(fields) = config.as_object_mut() {
        fields.extend(sections);
    }
    Ok(())
}

/// The settings by key, each with its `value`.
#[derive(Clone, Copy)]
struct Settings<'a>(&'a Value);

impl<'a> Settings<'a> {
    fn value(self, key: &str) -> &'a Value {
        &self.0[key]["value"]
    }

    /// 0 if the setting is not a duration.
    fn milliseconds(self, key: &str) -> u64 {
        let text = self.value(key).as_str().unwrap_or_default();
        let (number, unit) = text.split_at(text.find(|c: char| !c.is_ascii_digit()).unwrap_or(0));
        let factor = UNITS.iter().find(|(name, _)| *name == unit).map_or(0, |(_, factor)| *factor);
        number.parse().unwrap_or(0_u64).saturating_mul(factor)
    }
}

async fn llm(app: &App, settings: Settings<'_>) -> Value {
    // For `auto`, the provider that it has selected.
    let provider = match settings.value("llm.provider").as_str().unwrap_or_default() {
        "auto" => (app.parts.models)().llm.provider,
        configured => configured.to_owned(),
    };
    let earlier = EARLIER_PROVIDERS.iter().find(|(_, current)| *current == provider);
    // The other settings are shown even if the file of keys can't be read.
    let key = app.parts.model_setup.show().await.ok().map(|model| model.key);
    let model = settings.value("llm.model").as_str().filter(|name| !name.is_empty());
    json!({
        "provider": earlier.map_or(provider.as_str(), |(earlier, _)| earlier),
        "model": model, "api_key_env": key.as_ref().map_or("", |key| key.variable.as_str()),
        "timeout_seconds": settings.milliseconds("llm.timeout") / 1_000,
        "temperature": settings.value("llm.temperature"), "max_tokens": settings.value("llm.max_tokens"),
        "api_key_present": key.as_ref().is_some_and(|key| key.source != KeySource::None),
    })
}

async fn system(app: &App) -> Value {
    let files = app.parts.configuration.files().await;
    // A database on a server has neither path nor size here: the earlier API knows only files.
    let database = files.database.unwrap_or_default();
    json!({
        "data_dir": files.folder, "db_path": database,
        "db_size_bytes": std::fs::metadata(&database).map_or(0, |file| file.len()),
        "config_path": Some(&files.config).filter(|path| path.exists()), "version": app.parts.settings.load().version,
        "uptime_seconds": app.now().duration_since(app.parts.started_at).as_secs().max(0),
    })
}

fn web_section(app: &App, settings: Settings<'_>) -> Value {
    // The actual address; the setting may say "any free port", and the command line another one.
    let url = app.parts.settings.load().url.parse::<axum::http::Uri>().ok();
    let port =
        url.and_then(|url| url.port_u16().or(Some(if url.scheme_str() == Some("https") { 443 } else { 80 })));
    json!({
        "enabled": true, "channel_id": "web", "host": settings.value("server.host"), "port": port,
        "static_dir": "", "debounce_ms": settings.milliseconds("channels.web.debounce"),
        "ready": true, "registered": true,
    })
}

async fn bot(app: &App, settings: Settings<'_>, id: &str) -> Value {
    let channels = app.runtime().channels();
    let setting = |name: &str| settings.value(&format!("channels.{id}.{name}"));
    let tokens = app.parts.channel_setup.tokens().await.unwrap_or_default();
    let token = tokens.iter().find(|(channel, _)| *channel == id);
    json!({
        "enabled": setting("enabled"), "channel_id": id, "token_env": setting("token_env"),
        "token_loaded": token.is_some_and(|(_, token)| token.source != KeySource::None),
        "allowed_user_ids": setting("allowed_user_ids"),
        "debounce_ms": settings.milliseconds(&format!("channels.{id}.debounce")),
        "ready": channels.is_some_and(|channels| channels.can_deliver(id)),
        "registered": channels.is_some_and(|channels| channels.is_outbound(id)),
    })
}

/// Replaces earlier names of keys and values in a change. Returns the requested names, by the current ones.
pub(crate) fn rename_keys(wanted: &mut Value) -> BTreeMap<&'static str, &'static str> {
    let mut asked = BTreeMap::new();
    let Some(sections) = wanted.as_object_mut() else { return asked };
    for (earlier, current) in EARLIER_KEYS {
        if let Some(value) = remove_key(sections, earlier) {
            let is_seconds = earlier.ends_with("_seconds") && value.is_number();
            sections.insert(current.to_owned(), if is_seconds { json!(format!("{value}s")) } else { value });
            asked.insert(current, earlier);
        }
    }
    let provider = match sections.get("llm").and_then(|section| section.get("provider")) {
        Some(_) => wanted.pointer_mut("/llm/provider"),
        None => wanted.get_mut("llm.provider"),
    };
    if let Some(Value::String(name)) = provider
        && let Some((_, current)) = EARLIER_PROVIDERS.iter().find(|(earlier, _)| earlier == name)
    {
        (*current).clone_into(name);
    }
    asked
}

/// Removes `section.key` or `{section: {key}}`, and the section if it is then empty.
fn remove_key(sections: &mut Map<String, Value>, key: &str) -> Option<Value> {
    if let Some(value) = sections.remove(key) {
        return Some(value);
    }
    let (section, name) = key.split_once('.')?;
    let fields = sections.get_mut(section)?.as_object_mut()?;
    let value = fields.remove(name)?;
    if fields.is_empty() {
        sections.remove(section);
    }
    Some(value)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn earlier_names_map_to_current_keys() {
        let mut wanted = json!({
            "memory": {"retrieve_k": 3}, "memory.relational_bonus_weight": 2,
            "llm": {"timeout_seconds": 30, "provider": "stub", "model": "m"},
        });
        let asked = rename_keys(&mut wanted);
        let current = json!({
            "recall.k": 3, "recall.weight_relational": 2, "llm.timeout": "30s",
            "llm": {"provider": "offline", "model": "m"},
        });
        assert_eq!(wanted, current);
        let expected = [
            ("llm.timeout", "llm.timeout_seconds"),
            ("recall.k", "memory.retrieve_k"),
            ("recall.weight_relational", "memory.relational_bonus_weight"),
        ];
        assert_eq!(asked, BTreeMap::from(expected));
    }

    #[test]
    fn a_change_by_current_names_stays_as_it_is() {
        for wanted in
            [json!({"recall": {"k": 3}, "llm.provider": "openai"}), json!([]), json!({"llm": 5}), json!({})]
        {
            let mut renamed = wanted.clone();
            assert!(rename_keys(&mut renamed).is_empty());
            assert_eq!(renamed, wanted);
        }
    }
}
