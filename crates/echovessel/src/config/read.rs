//! Reads the configuration: file, then environment, every key checked by name before anything is believed.

use std::path::{Path, PathBuf};

use toml::{Table, Value};

use super::edit::line_of;
use super::sections::{Config, Voice, is_server_url};

/// Prefix of environment variables that set a key, as `ECHOVESSEL__SESSION__IDLE=5m`.
const PREFIX: &str = "ECHOVESSEL__";

/// Why the configuration can't be used.
#[derive(Debug, thiserror::Error)]
pub(crate) enum ConfigError {
    /// The file is there and can't be read.
    #[error("{path} can't be read: {source}")]
    Unreadable {
        /// The file.
        path: PathBuf,
        /// Why.
        source: std::io::Error,
    },
    /// Not TOML.
    #[error("{path} is not valid TOML: {message}")]
    Malformed {
        /// The file.
        path: PathBuf,
        /// Where and why.
        message: String,
    },
    /// A key that does not exist.
    #[error("{origin}: there is no key `{key}`{}", nearest_hint(.nearest.as_deref()))]
    UnknownKey {
        /// The file or the environment variable.
        origin: String,
        /// The key as written.
        key: String,
        /// The key that was perhaps meant.
        nearest: Option<String>,
    },
    /// A value that the key can't take.
    #[error("{0}")]
    BadValue(String),
}

fn nearest_hint(nearest: Option<&str>) -> String {
    nearest.map(|key| format!("; did you mean `{key}`?")).unwrap_or_default()
}

/// The configuration of a home: `config.toml` if it is there, then the environment's `ECHOVESSEL__SECTION__KEY`.
pub(crate) fn load(
    path: &Path,
    environment: impl Iterator<Item = (String, String)>,
) -> Result<Config, ConfigError> {
    match std::fs::read_to_string(path) {
        Ok(text) => parse(&text, path, environment),
        Err(error) if error.kind() == std::io::ErrorKind::NotFound => parse("", path, environment),
        Err(source) => Err(ConfigError::Unreadable { path: path.to_owned(), source }),
    }
}

/// The configuration that this text would be, if it stood in the file.
pub(crate) fn parse(
    text: &str,
    path: &Path,
    environment: impl Iterator<Item = (String, String)>,
) -> Result<Config, ConfigError> {
    let malformed =
        |error: toml::de::Error| ConfigError::Malformed { path: path.to_owned(), message: error.to_string() };
    let mut table = text.parse::<Table>().map_err(malformed)?;
    let known = known_keys()?;
    let origin = path.display().to_string();
    let at = |key: &str| match line_of(text, key) {
        Some(line) => format!("{origin}, line {line}"),
        None => origin.clone(),
    };
    for key in leaf_keys(&table) {
        check_key(&at(&key), &key, &known)?;
    }
    // Read by itself first: only the text itself knows its lines.
    let from_file = toml::from_str::<Config>(text);
    if let Err(error) = from_file {
        return Err(ConfigError::BadValue(format!("{origin}: {}", error.to_string().trim_end())));
    }
    let mut overrides: Vec<_> = environment.filter(|(name, _)| name.starts_with(PREFIX)).collect();
    overrides.sort();
    for (name, value) in &overrides {
        apply(&mut table, &known, name, value)?;
        // The file by itself was right, and every variable before this one.
        parse_config(&table)
            .map_err(|reason| ConfigError::BadValue(format!("{}: {reason}", variable(name))))?;
    }
    let config =
        parse_config(&table).map_err(|reason| ConfigError::BadValue(format!("{origin}: {reason}")))?;
    let set_by = |key: &str| {
        overrides.iter().find(|(name, _)| name.strip_prefix(PREFIX).map(key_of).as_deref() == Some(key))
    };
    let blamed = |key: &str| set_by(key).map_or_else(|| at(key), |(name, _)| variable(name));
    validate(&config).map_err(|(key, reason)| ConfigError::BadValue(format!("{}: {reason}", blamed(key))))?;
    Ok(config)
}

fn parse_config(table: &Table) -> Result<Config, String> {
    let config = Value::Table(table.clone()).try_into();
    config.map_err(|error: toml::de::Error| error.to_string().trim_end().replace('\n', " "))
}

/// How a message names what sets a key from outside.
fn variable(name: &str) -> String {
    format!("environment variable {name}")
}

/// The keys that the environment sets.
pub(crate) fn overridden_keys(environment: impl Iterator<Item = (String, String)>) -> Vec<String> {
    let names = environment.filter_map(|(name, _)| name.strip_prefix(PREFIX).map(key_of));
    names.collect()
}

fn key_of(name: &str) -> String {
    name.to_lowercase().replace("__", ".")
}

/// Every key that can be set, as `section.key`, with its default.
pub(crate) fn known_keys() -> Result<Vec<(String, Value)>, ConfigError> {
    let defaults =
        Table::try_from(Config::default()).map_err(|error| ConfigError::BadValue(error.to_string()))?;
    let mut keys = Vec::new();
    collect(&defaults, "", &mut keys);
    Ok(keys)
}

fn collect(table: &Table, prefix: &str, keys: &mut Vec<(String, Value)>) {
    for (name, value) in table {
        let path = if prefix.is_empty() { name.clone() } else { format!("{prefix}.{name}") };
        match value {
            Value::Table(inner) => collect(inner, &path, keys),
            value => keys.push((path, value.clone())),
        }
    }
}

fn leaf_keys(table: &Table) -> Vec<String> {
    let mut keys = Vec::new();
    collect(table, "", &mut keys);
    keys.into_iter().map(|(key, _)| key).collect()
}

fn check_key(origin: &str, key: &str, known: &[(String, Value)]) -> Result<(), ConfigError> {
    if known.iter().any(|(name, _)| name == key) {
        return Ok(());
    }
    let nearest = known
        .iter()
        .map(|(name, _)| (strsim::jaro_winkler(name, key), name))
        .filter(|(likeness, _)| *likeness > 0.7)
        .max_by(|a, b| a.0.total_cmp(&b.0))
        .map(|(_, name)| name.clone());
    Err(ConfigError::UnknownKey { origin: origin.to_owned(), key: key.to_owned(), nearest })
}

fn apply(table: &mut Table, known: &[(String, Value)], name: &str, value: &str) -> Result<(), ConfigError> {
    let key = key_of(&name[PREFIX.len()..]);
    let origin = variable(name);
    check_key(&origin, &key, known)?;
    let default = known.iter().find(|(known, _)| *known == key).map(|(_, default)| default);
    let refused = |kind: &str| ConfigError::BadValue(format!("{origin}: `{value}` is not {kind}"));
    let parsed = match default {
        Some(Value::Integer(_)) => Value::Integer(value.parse().map_err(|_| refused("a whole number"))?),
        Some(Value::Float(_)) => Value::Float(value.parse().map_err(|_| refused("a number"))?),
        Some(Value::Boolean(_)) => Value::Boolean(value.parse().map_err(|_| refused("true or false"))?),
        Some(Value::Array(_)) => {
            let parts = value.split(',').map(str::trim).filter(|part| !part.is_empty());
            Value::Array(parts.map(|part| Value::String(part.to_owned())).collect())
        }
        _ => Value::String(value.to_owned()),
    };
    let mut place = table;
    let mut parts = key.split('.').peekable();
    while let Some(part) = parts.next() {
        if parts.peek().is_none() {
            place.insert(part.to_owned(), parsed);
            break;
        }
        let next = place.entry(part).or_insert_with(|| Value::Table(Table::new()));
        let Value::Table(inner) = next else { return Err(refused("settable: its section is not a table")) };
        place = inner;
    }
    Ok(())
}

fn one_of(key: &'static str, value: &str, allowed: &[&str]) -> Result<(), (&'static str, String)> {
    if allowed.contains(&value) {
        return Ok(());
    }
    Err((key, format!("{key} = \"{value}\": it must be one of {}", allowed.join(", "))))
}

fn storage(config: &Config) -> Result<(), (&'static str, String)> {
    let storage = &config.storage;
    if is_server_url(&storage.url) {
        store::ServerAddress::parse(&storage.url, None)
            .map_err(|error| ("storage.url", error.to_string()))?;
    } else if storage.url != "sqlite" && !storage.url.starts_with("sqlite://") {
        let reason =
            "storage.url must be \"sqlite\", \"sqlite:///path\" or \"postgres://user@host:port/database\"";
        return Err(("storage.url", reason.to_owned()));
    }
    match storage.pool {
        2..=1000 => Ok(()),
        _ => Err(("storage.pool", "storage.pool must be 2 to 1000".to_owned())),
    }
}

/// What no type can say. The error is the key and what it has to be.
fn validate(config: &Config) -> Result<(), (&'static str, String)> {
    one_of("llm.provider", &config.llm.provider, &["auto", "openai", "anthropic", "offline"])?;
    one_of("openai.utility_prompts", &config.openai.utility_prompts, &["refuse", "answer"])?;
    one_of("recall.week_start", &config.recall.week_start, &["monday", "sunday"])?;
    one_of("embedding.provider", &config.embedding.provider, &["local", "openai", "none"])?;
    if config.embedding.provider == "openai" && config.embedding.model.trim().is_empty() {
        let message =
            "embedding.provider = \"openai\" needs embedding.model, the name of the endpoint's model";
        return Err(("embedding.model", message.to_owned()));
    }
    let names = embed::KNOWN_MODELS.map(|known| known.name);
    if config.embedding.provider == "local" && !config.embedding.model.is_empty() {
        one_of("embedding.model", &config.embedding.model, &names)?;
    }
    storage(config)?;
    if memory::PersonaId::new(config.persona.id.clone()).is_err() {
        return Err(("persona.id", "persona.id needs 1 to 128 characters".to_owned()));
    }
    if config.server.tls_cert.is_empty() != config.server.tls_key.is_empty() {
        let reason = "server.tls_cert and server.tls_key go together: set both or none";
        return Err(("server.tls_cert", reason.to_owned()));
    }
    let at_least_one = [
        ("session.max_messages", u64::from(config.session.max_messages)),
        ("session.max_tokens", config.session.max_tokens),
        ("recall.k", config.recall.k as u64),
        ("backup.keep", u64::from(config.backup.keep)),
    ];
    if let Some((key, _)) = at_least_one.iter().find(|(_, value)| *value == 0) {
        return Err((key, format!("{key} must be at least 1")));
    }
    let longer_than_nothing = [
        ("session.scan_every", config.session.scan_every),
        ("consolidate.poll_every", config.consolidate.poll_every),
        ("recall.half_life", config.recall.half_life),
        ("limits.turn_timeout", config.limits.turn_timeout),
    ];
    if let Some((key, _)) = longer_than_nothing.iter().find(|(_, period)| period.0.is_zero()) {
        return Err((key, format!("{key} must be longer than 0")));
    }
    let recall = &config.recall;
    let weights = [
        ("recall.min_relevance", recall.min_relevance),
        ("recall.weight_recency", recall.weight_recency),
        ("recall.weight_relevance", recall.weight_relevance),
        ("recall.weight_impact", recall.weight_impact),
        ("recall.weight_relational", recall.weight_relational),
        ("recall.weight_entity_anchor", recall.weight_entity_anchor),
    ];
    if let Some((key, _)) = weights.iter().find(|(_, weight)| !weight.is_finite() || *weight < 0.0) {
        return Err((key, format!("{key} must be a number from 0 on")));
    }
    let sizes =
        [("limits.body", &config.limits.body), ("limits.vector_memory", &config.limits.vector_memory)];
    for (key, size) in sizes {
        body_limit(size).map_err(|error| (key, format!("{key}: {error}")))?;
    }
    check_backup(config)?;
    check_sampling(config)?;
    check_voice_and_channels(config)?;
    check_proactive(config)?;
    check_prices(config)?;
    refuse_unimplemented(config)
}

fn check_backup(config: &Config) -> Result<(), (&'static str, String)> {
    match config.backup_every() {
        Ok(Some(every)) if every.is_zero() => {
            Err(("backup.every", "backup.every must be longer than 0, or \"\" for never".to_owned()))
        }
        Err(error) => Err(("backup.every", format!("backup.every: {error}"))),
        Ok(_) => Ok(()),
    }
}

/// What is asked for and not implemented yet is an error, so that nobody waits for a message that never comes.
fn refuse_unimplemented(config: &Config) -> Result<(), (&'static str, String)> {
    let wanted = [("limits.upload", config.limits.upload != Config::default().limits.upload, "\"50MiB\"")];
    match wanted.into_iter().find(|(_, is_wanted, _)| *is_wanted) {
        Some((key, _, default)) => Err((
            key,
            format!("{key}: not implemented in this version; remove the key or set it to {default}"),
        )),
        None => Ok(()),
    }
}

fn check_voice_and_channels(config: &Config) -> Result<(), (&'static str, String)> {
    let (voice, discord, telegram) = (&config.voice, &config.channels.discord, &config.channels.telegram);
    check_voice(voice)?;
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
        // Not what stands there: it may be the secret itself.
        return Err((key, format!("{key} is the name of an environment variable, not a secret itself")));
    }
    let allowed = [
        ("channels.discord.allowed_user_ids", &discord.allowed_user_ids),
        ("channels.telegram.allowed_user_ids", &telegram.allowed_user_ids),
    ];
    let is_id = |id: &String| !id.is_empty() && id.bytes().all(|digit| digit.is_ascii_digit());
    match allowed.into_iter().find(|(_, ids)| !ids.iter().all(is_id)) {
        Some((key, _)) => Err((key, format!("{key}: an id is written in digits, as \"123456789012345678\""))),
        None => Ok(()),
    }
}

fn check_proactive(config: &Config) -> Result<(), (&'static str, String)> {
    let proactive = &config.proactive;
    let hours = [
        ("proactive.quiet_hours_start", proactive.quiet_hours_start),
        ("proactive.quiet_hours_end", proactive.quiet_hours_end),
    ];
    if let Some((key, _)) = hours.iter().find(|(_, hour)| !(0..24).contains(hour)) {
        return Err((key, format!("{key}: an hour from 0 to 23")));
    }
    let periods = [("proactive.tick", proactive.tick), ("proactive.long_silence", proactive.long_silence)];
    match periods.iter().find(|(_, period)| period.0.is_zero()) {
        Some((key, _)) => Err((key, format!("{key} must be longer than 0"))),
        None => Ok(()),
    }
}

/// What is enabled has to be able to work.
fn check_voice(section: &Voice) -> Result<(), (&'static str, String)> {
    one_of("voice.tts_provider", &section.tts_provider, &["none", "command", "openai", "fishaudio"])?;
    one_of("voice.stt_provider", &section.stt_provider, &["none", "command", "openai"])?;
    for (key, url) in
        [("voice.tts_base_url", &section.tts_base_url), ("voice.stt_base_url", &section.stt_base_url)]
    {
        if !voice::is_secure_url(url) {
            return Err((key, format!("{key} must begin with https://, or with http:// on this machine")));
        }
    }
    let (speaks, hears) = (section.tts_provider != "none", section.stt_provider != "none");
    if section.enabled && !speaks && !hears {
        let reason =
            "voice.enabled needs who speaks or who hears: set voice.tts_provider or voice.stt_provider";
        return Err(("voice.enabled", reason.to_owned()));
    }
    for (key, provider, command) in [
        ("voice.tts_command", &section.tts_provider, &section.tts_command),
        ("voice.stt_command", &section.stt_provider, &section.stt_command),
    ] {
        if section.enabled && provider == "command" && command.first().is_none_or(String::is_empty) {
            return Err((key, format!("{key} must name the program, as [\"espeak-ng\", \"--stdout\"]")));
        }
    }
    let voices = &section.tts_voices;
    let wants_voice = section.tts_command.iter().any(|part| part.contains(voice::VOICE_PLACEHOLDER));
    if section.enabled && section.tts_provider == "command" && wants_voice && section.tts_voice.is_empty() {
        let reason = "voice.tts_command holds {voice}, so voice.tts_voice must name a voice";
        return Err(("voice.tts_voice", reason.to_owned()));
    }
    let names = [&section.tts_voice, &voices.zh, &voices.en];
    if section.tts_provider == "command" && names.iter().any(|name| name.starts_with('-')) {
        return Err(("voice.tts_voice", "the name of a voice can't begin with a hyphen".to_owned()));
    }
    Ok(())
}

fn check_sampling(config: &Config) -> Result<(), (&'static str, String)> {
    if !(0.0..=2.0).contains(&config.llm.temperature) {
        return Err(("llm.temperature", "llm.temperature must be a number from 0 to 2".to_owned()));
    }
    if !(64..=32_000).contains(&config.llm.max_tokens) {
        return Err(("llm.max_tokens", "llm.max_tokens must be from 64 to 32000".to_owned()));
    }
    if config.llm.context_tokens != 0 && !(1_000..=1_000_000).contains(&config.llm.context_tokens) {
        let reason = "llm.context_tokens must be 0 (as the model says) or from 1000 to 1000000";
        return Err(("llm.context_tokens", reason.to_owned()));
    }
    Ok(())
}

fn check_prices(config: &Config) -> Result<(), (&'static str, String)> {
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
            return Err((prices, "each of llm.prices needs `model`, and prices of 0 or more".to_owned()));
        }
    }
    if config.llm.daily_spend_cap > 0.0 && config.llm.prices.is_empty() {
        let reason = "llm.daily_spend_cap counts what models cost, so llm.prices must name their prices";
        return Err((cap, reason.to_owned()));
    }
    if config.limits.usd_per_day > 0.0 && config.llm.prices.is_empty() {
        let reason = format!("{of_token} counts what models cost, so llm.prices must name their prices");
        return Err((of_token, reason));
    }
    Ok(())
}

/// Bytes of a size as `1MiB`, `512KiB` or a plain number.
pub(crate) fn body_limit(text: &str) -> Result<usize, ConfigError> {
    let trimmed = text.trim();
    let units = [("GiB", 1usize << 30), ("MiB", 1 << 20), ("KiB", 1 << 10), ("B", 1), ("", 1)];
    let parsed = units.iter().find_map(|(unit, factor)| {
        trimmed.strip_suffix(unit)?.trim().parse::<usize>().ok()?.checked_mul(*factor)
    });
    parsed.filter(|bytes| *bytes > 0).ok_or_else(|| {
        ConfigError::BadValue(format!("`{text}` is not a size; write it as \"1MiB\", \"512KiB\" or in bytes"))
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn with(text: &str, environment: &[(&str, &str)]) -> Result<Config, ConfigError> {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("config.toml");
        std::fs::write(&path, text).unwrap();
        load(&path, environment.iter().map(|(name, value)| ((*name).to_owned(), (*value).to_owned())))
    }

    #[test]
    fn nothing_at_all_is_a_configuration() {
        let config = load(Path::new("does-not-exist.toml"), std::iter::empty()).unwrap();
        assert_eq!(config, Config::default());
        assert_eq!(config.server.port, 7777);
        assert_eq!(config.session.idle.to_string(), "30m");
    }

    #[test]
    fn an_unknown_key_names_the_nearest() {
        let error = with("[session]\nidel = \"5m\"\n", &[]).unwrap_err().to_string();
        assert!(error.contains("`session.idel`") && error.contains("`session.idle`"), "{error}");
        let error = with("[channels.web]\ndebounse = \"5m\"\n", &[]).unwrap_err().to_string();
        assert!(error.contains("channels.web.debounce"), "{error}");
    }

    #[test]
    fn the_environment_wins_over_the_file() {
        let environment = [
            ("ECHOVESSEL__SESSION__IDLE", "1s"),
            ("ECHOVESSEL__SERVER__PORT", "0"),
            ("ECHOVESSEL__CHANNELS__WEB__DEBOUNCE", "50ms"),
            ("ECHOVESSEL__LLM__MODELS__SMALL", "tiny"),
            ("ECHOVESSEL__SERVER__ALLOWED_HOSTS", "a.example, b.example"),
            ("HOME", "ignored"),
        ];
        let config = with("[session]\nidle = \"5m\"\n", &environment).unwrap();
        assert_eq!(config.session.idle.to_string(), "1s");
        assert_eq!(config.server.port, 0);
        assert_eq!(config.channels.web.debounce.to_string(), "50ms");
        assert_eq!(config.llm.models.small, "tiny");
        assert_eq!(config.server.allowed_hosts, ["a.example", "b.example"]);
        assert!(with("", &[("ECHOVESSEL__SERVER__PORT", "many")]).is_err());
        assert!(with("", &[("ECHOVESSEL__SERVER__PROT", "1")]).is_err());
    }

    #[test]
    fn values_that_make_no_sense_are_refused_with_a_reason() {
        for text in [
            "[llm]\nprovider = \"gpt\"",
            "[session]\nidle = 30",
            "[session]\nmax_messages = 0",
            "[limits]\nbody = \"huge\"",
            "[limits]\nvector_memory = \"lots\"",
            "[embedding]\nprovider = \"openai\"",
            "[embedding]\nmodel = \"bge-m3\"",
            "[storage]\nurl = \"postgres://x\"",
            "[storage]\nurl = \"postgres://ann:secret@host/home\"",
            "[storage]\nurl = \"postgres://ann@host/home\"\npool = 1",
            "not toml at all",
            "[llm]\ndaily_spend_cap = 1.5",
            "[limits]\nusd_per_day = 1.5",
            "[limits]\nusd_per_day = -1.0",
            "[llm]\nprices = [{ input = 1.0 }]",
            "[llm]\nprices = [{ model = \"m\", input = -1.0 }]",
            "[llm]\nprices = [{ model = \"m\", imput = 1.0 }]",
            "[voice]\ntts_provider = \"nobody\"",
            "[voice]\nstt_provider = \"nobody\"",
            "[voice]\nenabled = true",
            "[voice]\nenabled = true\ntts_provider = \"command\"",
            "[voice]\nenabled = true\ntts_provider = \"command\"\ntts_command = [\"say\", \"{voice}\"]",
            "[voice]\ntts_provider = \"openai\"\ntts_base_url = \"http://far.example/v1\"",
            "[channels.discord]\nallowed_user_ids = [123456789012345678]",
            "[channels.discord]\nallowed_user_ids = [\"ann\"]",
            "[channels.telegram]\ntoken = \"x\"",
            "[proactive]\nquiet_hours_start = 24",
            "[proactive]\nquiet_hours_end = -1",
            "[proactive]\ntick = \"0s\"",
            "[proactive]\nmax_per_24h = -1",
        ] {
            assert!(with(text, &[]).is_err(), "{text}");
        }
    }

    #[test]
    fn unimplemented_sections_are_read_and_checked_while_they_are_off() {
        let text = "[voice]\nenabled = false\n[channels.discord]\ntoken_env = \"BOT\"\n\
                    allowed_user_ids = [\"123456789012345678\"]\n[channels.telegram]\ndebounce = \"1s\"\n";
        let config = with(text, &[("ECHOVESSEL__CHANNELS__TELEGRAM__ENABLED", "false")]).unwrap();
        assert_eq!(config.channels.discord.allowed_user_ids, ["123456789012345678"]);
        assert_eq!(config.channels.telegram.debounce.to_string(), "1s");
        let secret = "12345:AbCdEf";
        let refused = with(&format!("[channels.telegram]\ntoken_env = \"{secret}\""), &[]).unwrap_err();
        let refused = refused.to_string();
        assert!(refused.contains("environment variable") && !refused.contains(secret), "{refused}");
    }

    #[test]
    fn enabling_an_unimplemented_section_is_refused_with_the_way_out() {
        let refused = with("[limits]\nupload = \"1GiB\"", &[]).unwrap_err().to_string();
        assert!(refused.contains("line 2: limits.upload: not implemented"), "{refused}");
        assert!(refused.contains("remove the key or set it to"), "{refused}");
        let refused = with("", &[("ECHOVESSEL__LIMITS__UPLOAD", "1GiB")]).unwrap_err().to_string();
        assert!(refused.contains("environment variable ECHOVESSEL__LIMITS__UPLOAD"), "{refused}");
    }

    #[test]
    fn prices_are_a_list_of_models() {
        let text =
            "[llm]\ndaily_spend_cap = 2.5\n[[llm.prices]]\nmodel = \"gpt-x.1\"\ninput = 0.4\noutput = 1.6\n";
        let llm = with(text, &[]).unwrap().llm;
        assert_eq!((llm.prices[0].model.as_str(), llm.prices[0].cached), ("gpt-x.1", None));
        assert!((llm.prices[0].output - 1.6).abs() < 1e-9 && (llm.daily_spend_cap - 2.5).abs() < 1e-9);
    }

    #[test]
    fn sizes_are_read_with_their_units() {
        assert_eq!(body_limit("1MiB").unwrap(), 1 << 20);
        assert_eq!(body_limit("512KiB").unwrap(), 512 << 10);
        assert_eq!(body_limit("77").unwrap(), 77);
        assert!(body_limit("0").is_err());
    }
}
