//! Conditions of the configuration that types can't express.

use reqwest::Url;

use super::sections::{Config, Voice, is_server_url};
use super::values::{EmbeddingProvider, SpeechProvider, TranscriptProvider};

/// A key and what is wrong with it.
type WrongSetting = (&'static str, String);
/// A check of the configuration; returns the first problem that it finds.
type Check = fn(&Config) -> Result<(), WrongSetting>;

/// All checks of the configuration that no type can express.
const CHECKS: [Check; 18] = [
    check_advertised,
    check_embedding_model,
    check_storage,
    check_persona,
    check_identity,
    check_counts,
    check_periods,
    check_weights,
    check_backup,
    check_sync,
    check_sampling,
    check_voice,
    check_variables,
    check_accounts,
    check_proactive,
    check_prices,
    check_caps,
    refuse_unimplemented,
];

/// Errors that no type can express: the first one of each check.
pub(super) fn wrong_values(config: &Config) -> Vec<WrongSetting> {
    CHECKS.iter().filter_map(|check| check(config).err()).collect()
}

fn one_of(key: &'static str, value: &str, allowed: &[&str]) -> Result<(), WrongSetting> {
    if allowed.contains(&value) {
        return Ok(());
    }
    Err((key, format!("{key} = \"{value}\": it must be one of {}", allowed.join(", "))))
}

fn check_sync(config: &Config) -> Result<(), WrongSetting> {
    let sync = &config.sync;
    if !sync.url.is_empty() {
        hub_client::check_url(&sync.url).map_err(|error| ("sync.url", error.to_string()))?;
        if !sync.command.is_empty() {
            return Err((
                "sync.command",
                "sync.url and sync.command are both set; a home has one hub, so unset one of them".to_owned(),
            ));
        }
    }
    if sync.push_every.0 < std::time::Duration::from_secs(10) {
        return Err(("sync.push_every", "sync.push_every must be 10s or more".to_owned()));
    }
    Ok(())
}

fn check_advertised(config: &Config) -> Result<(), WrongSetting> {
    let advertised = &config.server.advertise;
    let is_base = |url: &Url| {
        matches!(url.scheme(), "http" | "https")
            && url.path() == "/"
            && url.query().is_none()
            && url.username().is_empty()
    };
    if advertised.is_empty() || Url::parse(advertised).is_ok_and(|url| is_base(&url)) {
        return Ok(());
    }
    let reason = format!(
        "server.advertise = {advertised:?}: it must be the address of this daemon, as http://10.0.0.7:7777"
    );
    Err(("server.advertise", reason))
}

fn check_storage(config: &Config) -> Result<(), WrongSetting> {
    let storage = &config.storage;
    if is_server_url(&storage.url) {
        store::ServerAddress::parse(&storage.url, None)
            .map_err(|error| ("storage.url", error.to_string()))?;
    } else if storage.url != "sqlite" && !storage.url.starts_with("sqlite://") {
        let reason =
            "storage.url must be \"sqlite\", \"sqlite:///path\" or \"postgres://user@host:port/database\"";
        return Err(("storage.url", reason.to_owned()));
    }
    if !storage.files.is_empty() && !std::path::Path::new(&storage.files).is_absolute() {
        return Err(("storage.files", "storage.files must be the absolute path of a folder".to_owned()));
    }
    match storage.pool {
        2..=1000 => Ok(()),
        _ => Err(("storage.pool", "storage.pool must be 2 to 1000".to_owned())),
    }
}

fn check_embedding_model(config: &Config) -> Result<(), WrongSetting> {
    if config.embedding.provider == EmbeddingProvider::OpenAi && config.embedding.model.trim().is_empty() {
        let message =
            "embedding.provider = \"openai\" needs embedding.model, the name of a model of the endpoint";
        return Err(("embedding.model", message.to_owned()));
    }
    let names = embed::KNOWN_MODELS.map(|known| known.name);
    if config.embedding.provider == EmbeddingProvider::Local && !config.embedding.model.is_empty() {
        one_of("embedding.model", &config.embedding.model, &names)?;
    }
    Ok(())
}

fn check_persona(config: &Config) -> Result<(), WrongSetting> {
    match memory::PersonaId::new(config.persona.id.clone()) {
        Ok(_) => Ok(()),
        Err(_) => Err(("persona.id", "persona.id needs 1 to 128 characters".to_owned())),
    }
}

fn check_identity(config: &Config) -> Result<(), WrongSetting> {
    let (certificate, key) = (&config.server.tls_cert, &config.server.tls_key);
    if certificate.is_empty() != key.is_empty() {
        let set = if key.is_empty() { "server.tls_cert" } else { "server.tls_key" };
        let reason = "server.tls_cert and server.tls_key go together: set both or none";
        return Err((set, reason.to_owned()));
    }
    Ok(())
}

fn check_counts(config: &Config) -> Result<(), WrongSetting> {
    let at_least_one = [
        ("session.max_messages", u64::from(config.session.max_messages)),
        ("session.max_tokens", config.session.max_tokens),
        ("recall.k", config.recall.k as u64),
        ("backup.keep", u64::from(config.backup.keep)),
    ];
    match at_least_one.iter().find(|(_, value)| *value == 0) {
        Some((key, _)) => Err((key, format!("{key} must be at least 1"))),
        None => Ok(()),
    }
}

fn check_periods(config: &Config) -> Result<(), WrongSetting> {
    let longer_than_nothing = [
        ("session.scan_every", config.session.scan_every),
        ("consolidate.poll_every", config.consolidate.poll_every),
        ("recall.half_life", config.recall.half_life),
        ("limits.turn_timeout", config.limits.turn_timeout),
        ("proactive.tick", config.proactive.tick),
        ("proactive.long_silence", config.proactive.long_silence),
    ];
    match longer_than_nothing.iter().find(|(_, period)| period.0.is_zero()) {
        Some((key, _)) => Err((key, format!("{key} must be longer than 0"))),
        None => Ok(()),
    }
}

fn check_weights(config: &Config) -> Result<(), WrongSetting> {
    let recall = &config.recall;
    let weights = [
        ("recall.min_relevance", recall.min_relevance),
        ("recall.weight_recency", recall.weight_recency),
        ("recall.weight_relevance", recall.weight_relevance),
        ("recall.weight_impact", recall.weight_impact),
        ("recall.weight_relational", recall.weight_relational),
        ("recall.weight_entity_anchor", recall.weight_entity_anchor),
    ];
    match weights.iter().find(|(_, weight)| !weight.is_finite() || *weight < 0.0) {
        Some((key, _)) => Err((key, format!("{key} must be 0 or more"))),
        None => Ok(()),
    }
}

fn check_backup(config: &Config) -> Result<(), WrongSetting> {
    match config.backup.every.0 {
        Some(every) if every.is_zero() => Err((
            "backup.every",
            "backup.every must be longer than 0, or \"\" to switch backups off".to_owned(),
        )),
        _ => Ok(()),
    }
}

/// Rejects settings that are not implemented yet, so that nobody waits for a message that never comes.
fn refuse_unimplemented(config: &Config) -> Result<(), WrongSetting> {
    let wanted = [("limits.upload", config.limits.upload != Config::default().limits.upload, "\"50MiB\"")];
    match wanted.into_iter().find(|(_, is_wanted, _)| *is_wanted) {
        Some((key, _, default)) => Err((
            key,
            format!("{key}: not implemented in this version; remove the key or set it to {default}"),
        )),
        None => Ok(()),
    }
}

fn check_variables(config: &Config) -> Result<(), WrongSetting> {
    let (voice, discord, telegram) = (&config.voice, &config.channels.discord, &config.channels.telegram);
    let variables = [
        ("voice.tts_api_key_env", &voice.tts_api_key_env),
        ("voice.stt_api_key_env", &voice.stt_api_key_env),
        ("channels.discord.token_env", &discord.token_env),
        ("channels.telegram.token_env", &telegram.token_env),
    ];
    let is_name = |name: &str| {
        name.starts_with(|first: char| first.is_ascii_alphabetic() || first == '_')
            && name.chars().all(|letter| letter.is_ascii_alphanumeric() || letter == '_')
    };
    if let Some((key, _)) = variables.into_iter().find(|(_, name)| !is_name(name)) {
        // The value is not printed, as it may be the secret itself.
        return Err((key, format!("{key} is the name of an environment variable, not a secret itself")));
    }
    Ok(())
}

fn check_accounts(config: &Config) -> Result<(), WrongSetting> {
    let (discord, telegram) = (&config.channels.discord, &config.channels.telegram);
    let allowed = [
        ("channels.discord.allowed_user_ids", &discord.allowed_user_ids),
        ("channels.telegram.allowed_user_ids", &telegram.allowed_user_ids),
    ];
    let is_id = |id: &String| !id.is_empty() && id.bytes().all(|digit| digit.is_ascii_digit());
    match allowed.into_iter().find(|(_, ids)| !ids.iter().all(is_id)) {
        Some((key, _)) => {
            Err((key, format!("{key}: an id consists of digits, as in \"123456789012345678\"")))
        }
        None => Ok(()),
    }
}

fn check_proactive(config: &Config) -> Result<(), WrongSetting> {
    let proactive = &config.proactive;
    let hours = [
        ("proactive.quiet_hours_start", proactive.quiet_hours_start),
        ("proactive.quiet_hours_end", proactive.quiet_hours_end),
    ];
    match hours.iter().find(|(_, hour)| !(0..24).contains(hour)) {
        Some((key, _)) => Err((key, format!("{key} must be an hour from 0 to 23"))),
        None => Ok(()),
    }
}

/// Rejects settings of a voice that can't work.
fn check_voice(config: &Config) -> Result<(), WrongSetting> {
    let section: &Voice = &config.voice;
    for (key, url) in
        [("voice.tts_base_url", &section.tts_base_url), ("voice.stt_base_url", &section.stt_base_url)]
    {
        if !voice::is_secure_url(url) {
            return Err((key, format!("{key} must begin with https://, or with http:// on this machine")));
        }
    }
    let (speaks, hears) =
        (section.tts_provider != SpeechProvider::None, section.stt_provider != TranscriptProvider::None);
    if section.enabled && !speaks && !hears {
        let reason = "voice.enabled needs a provider: set voice.tts_provider or voice.stt_provider";
        return Err(("voice.enabled", reason.to_owned()));
    }
    let speaks_by_command = section.tts_provider == SpeechProvider::Command;
    let hears_by_command = section.stt_provider == TranscriptProvider::Command;
    for (key, is_used, command) in [
        ("voice.tts_command", speaks_by_command, &section.tts_command),
        ("voice.stt_command", hears_by_command, &section.stt_command),
    ] {
        if section.enabled && is_used && command.first().is_none_or(String::is_empty) {
            return Err((key, format!("{key} must name the program, as [\"espeak-ng\", \"--stdout\"]")));
        }
    }
    let voices = &section.tts_voices;
    let wants_voice = section.tts_command.iter().any(|part| part.contains(voice::VOICE_PLACEHOLDER));
    if section.enabled && speaks_by_command && wants_voice && section.tts_voice.is_empty() {
        let reason = "voice.tts_command contains {voice}, so voice.tts_voice must name a voice";
        return Err(("voice.tts_voice", reason.to_owned()));
    }
    let names = [&section.tts_voice, &voices.zh, &voices.en];
    if speaks_by_command && names.iter().any(|name| name.starts_with('-')) {
        return Err(("voice.tts_voice", "the name of a voice can't begin with a hyphen".to_owned()));
    }
    Ok(())
}

fn check_sampling(config: &Config) -> Result<(), WrongSetting> {
    if !(0.0..=2.0).contains(&config.llm.temperature) {
        return Err(("llm.temperature", "llm.temperature must be a number from 0 to 2".to_owned()));
    }
    if !(64..=32_000).contains(&config.llm.max_tokens) {
        return Err(("llm.max_tokens", "llm.max_tokens must be from 64 to 32000".to_owned()));
    }
    if config.llm.context_tokens != 0 && !(1_000..=1_000_000).contains(&config.llm.context_tokens) {
        let reason = "llm.context_tokens must be 0 (the model's own limit) or from 1000 to 1000000";
        return Err(("llm.context_tokens", reason.to_owned()));
    }
    Ok(())
}

fn check_prices(config: &Config) -> Result<(), WrongSetting> {
    let is_amount = |amount: f64| amount.is_finite() && amount >= 0.0;
    let (cap, prices, of_token) = ("llm.daily_spend_cap", "llm.prices", "limits.usd_per_day");
    if !is_amount(config.llm.daily_spend_cap) {
        return Err((cap, "llm.daily_spend_cap must be 0 (no cap) or more".to_owned()));
    }
    if !is_amount(config.limits.usd_per_day) {
        return Err((of_token, format!("{of_token} must be 0 (no limit) or more")));
    }
    for price in &config.llm.prices {
        let amounts = [price.input, price.output, price.cached.unwrap_or_default()];
        if price.model.is_empty() || !amounts.into_iter().all(is_amount) {
            return Err((
                prices,
                "each entry of llm.prices needs `model` and prices of 0 or more".to_owned(),
            ));
        }
    }
    Ok(())
}

fn check_caps(config: &Config) -> Result<(), WrongSetting> {
    let (cap, of_token) = ("llm.daily_spend_cap", "limits.usd_per_day");
    if config.llm.daily_spend_cap > 0.0 && config.llm.prices.is_empty() {
        let reason = "llm.daily_spend_cap limits the cost of models, so llm.prices must contain their prices";
        return Err((cap, reason.to_owned()));
    }
    if config.limits.usd_per_day > 0.0 && config.llm.prices.is_empty() {
        let reason = format!("{of_token} limits the cost of models, so llm.prices must contain their prices");
        return Err((of_token, reason));
    }
    Ok(())
}
