//! Reads the configuration: the file, then the environment. Every key is checked by name first.

use std::path::Path;

use toml::{Table, Value};

use super::checks::wrong_values;
use super::edit::{key_line, without_key};
use super::error::ConfigError;
use super::sections::Config;

/// Prefix of environment variables that set a key, as `ECHOVESSEL__SESSION__IDLE=5m`.
const PREFIX: &str = "ECHOVESSEL__";

/// Maximum mistakes to list: a file of another program has a mistake in each line.
const MISTAKES_MAX: usize = 50;

/// An error in the configuration, with its place.
struct Mistake {
    error: ConfigError,
    place: SettingPlace,
}

/// The setting that an error asks to change.
#[derive(Clone, PartialEq)]
enum SettingPlace {
    /// A key, set in the file or not at all.
    Key(String),
    /// The name of an environment variable.
    Variable(String),
    /// The file as a whole.
    File,
}

/// If the lines of the text may be named in an error.
#[derive(Clone, Copy, PartialEq)]
enum ErrorLines {
    /// The text is the content of the file.
    Named,
    /// The text is a proposal, so its line numbers refer to no file.
    Unnamed,
}

/// Reads the configuration of a home: `config.toml` if it exists, then the environment's `ECHOVESSEL__SECTION__KEY`.
///
/// # Errors
///
/// Every mistake that can be found.
pub(crate) fn load(
    path: &Path,
    environment: impl Iterator<Item = (String, String)>,
) -> Result<Config, ConfigError> {
    match std::fs::read_to_string(path) {
        Ok(text) => read(text, path, ErrorLines::Named, environment),
        Err(error) if error.kind() == std::io::ErrorKind::NotFound => {
            read(String::new(), path, ErrorLines::Named, environment)
        }
        Err(source) => Err(ConfigError::Unreadable { path: path.to_owned(), source }),
    }
}

/// Parses a text as the content of the file.
///
/// # Errors
///
/// Every mistake that can be found.
pub(crate) fn parse(
    text: &str,
    path: &Path,
    environment: impl Iterator<Item = (String, String)>,
) -> Result<Config, ConfigError> {
    read(text.to_owned(), path, ErrorLines::Unnamed, environment)
}

/// Reads the configuration. After each mistake it reads again without the key in question, until no new mistake is
/// found.
fn read(
    mut text: String,
    path: &Path,
    lines: ErrorLines,
    environment: impl Iterator<Item = (String, String)>,
) -> Result<Config, ConfigError> {
    let mut overrides: Vec<_> = environment.filter(|(name, _)| name.starts_with(PREFIX)).collect();
    overrides.sort();
    let (mut mistakes, mut places) = (Vec::new(), Vec::new());
    while mistakes.len() < MISTAKES_MAX {
        let Mistake { error, place } = match read_once(&text, path, lines, &overrides, &places) {
            Ok(config) if mistakes.is_empty() => return Ok(config),
            Ok(_) => break,
            Err(mistake) => mistake,
        };
        let is_known = places.contains(&place);
        match &place {
            _ if is_known => break,
            SettingPlace::Key(key) => text = without_key(&text, key).unwrap_or(text),
            SettingPlace::Variable(name) => overrides.retain(|(known, _)| known != name),
            SettingPlace::File => {}
        }
        mistakes.push(error);
        if place == SettingPlace::File {
            break;
        }
        places.push(place);
    }
    match mistakes.len() {
        1 => Err(mistakes.remove(0)),
        _ => Err(ConfigError::Several(mistakes)),
    }
}

/// Reads up to the first mistake that is not at one of the known places.
fn read_once(
    text: &str,
    path: &Path,
    lines: ErrorLines,
    overrides: &[(String, String)],
    places: &[SettingPlace],
) -> Result<Config, Mistake> {
    let of_file = |error: ConfigError| Mistake { error, place: SettingPlace::File };
    let malformed = |error: toml::de::Error| {
        of_file(ConfigError::Malformed { path: path.to_owned(), message: error.to_string() })
    };
    let mut table = text.parse::<Table>().map_err(malformed)?;
    let known = known_keys().map_err(of_file)?;
    let origin = path.display().to_string();
    let at = |key: &str| match key_line(text, key).filter(|_| lines == ErrorLines::Named) {
        Some(line) => format!("{origin}, line {line}"),
        None => origin.clone(),
    };
    for key in leaf_keys(&table) {
        check_key(&at(&key), &key, &known)
            .map_err(|error| Mistake { error, place: SettingPlace::Key(key.clone()) })?;
    }
    // The file is read alone first, so that its mistakes are not attributed to a variable.
    if let Err(error) = toml::from_str::<Config>(text) {
        let (message, place) = match leaf_keys(&table).into_iter().find(|key| !fits_type(&table, key)) {
            Some(key) => (format!("{}: {key}: {}", at(&key), plain_reason(&error)), SettingPlace::Key(key)),
            None => (format!("{origin}: {}", error.to_string().trim_end()), SettingPlace::File),
        };
        return Err(Mistake { error: ConfigError::BadValue(message), place });
    }
    for (name, value) in overrides {
        let of_variable = |error| Mistake { error, place: SettingPlace::Variable(name.clone()) };
        apply_variable(&mut table, &known, name, value).map_err(of_variable)?;
        // The file alone was valid, and so was every variable before this one.
        parse_config(&table).map_err(|reason| {
            of_variable(ConfigError::BadValue(format!("{}: {reason}", variable_label(name))))
        })?;
    }
    let config = parse_config(&table)
        .map_err(|reason| of_file(ConfigError::BadValue(format!("{origin}: {reason}"))))?;
    let set_by = |key: &str| {
        overrides.iter().find(|(name, _)| name.strip_prefix(PREFIX).map(variable_key).as_deref() == Some(key))
    };
    let mut wrong = wrong_values(&config).into_iter().map(|(key, reason)| match set_by(key) {
        Some((name, _)) => {
            (SettingPlace::Variable(name.clone()), format!("{}: {reason}", variable_label(name)))
        }
        None => (SettingPlace::Key(key.to_owned()), format!("{}: {reason}", at(key))),
    });
    match wrong.find(|(place, _)| !places.contains(place)) {
        Some((place, message)) => Err(Mistake { error: ConfigError::BadValue(message), place }),
        None => Ok(config),
    }
}

/// The reason without those words of the parser that only developers understand.
fn plain_reason(error: &toml::de::Error) -> String {
    error.message().replace("unknown variant", "unknown value")
}

/// True if a key of the configuration accepts a value of this type.
fn fits_type(table: &Table, key: &str) -> bool {
    let mut parts = key.split('.');
    let first = parts.next().and_then(|part| table.get(part));
    let Some(value) = first.and_then(|first| parts.try_fold(first, |value, part| value.get(part))) else {
        return true;
    };
    let around = |value, part: &str| Value::Table(Table::from_iter([(part.to_owned(), value)]));
    let nested = key.rsplit('.').fold(value.clone(), around);
    nested.try_into::<Config>().is_ok()
}

fn parse_config(table: &Table) -> Result<Config, String> {
    let config = Value::Table(table.clone()).try_into();
    config.map_err(|error: toml::de::Error| {
        error.to_string().trim_end().replace('\n', " ").replace("unknown variant", "unknown value")
    })
}

/// The name, in an error, of a variable that sets a key.
fn variable_label(name: &str) -> String {
    format!("environment variable {name}")
}

/// The keys that the environment sets.
pub(crate) fn overridden_keys(environment: impl Iterator<Item = (String, String)>) -> Vec<String> {
    let names = environment.filter_map(|(name, _)| name.strip_prefix(PREFIX).map(variable_key));
    names.collect()
}

fn variable_key(name: &str) -> String {
    name.to_lowercase().replace("__", ".")
}

/// Every key that can be set, as `section.key`, with its default.
pub(crate) fn known_keys() -> Result<Vec<(String, Value)>, ConfigError> {
    let defaults =
        Table::try_from(Config::default()).map_err(|error| ConfigError::BadValue(error.to_string()))?;
    let mut keys = Vec::new();
    collect_keys(&defaults, "", &mut keys);
    Ok(keys)
}

fn collect_keys(table: &Table, prefix: &str, keys: &mut Vec<(String, Value)>) {
    for (name, value) in table {
        let path = if prefix.is_empty() { name.clone() } else { format!("{prefix}.{name}") };
        match value {
            Value::Table(inner) => collect_keys(inner, &path, keys),
            value => keys.push((path, value.clone())),
        }
    }
}

fn leaf_keys(table: &Table) -> Vec<String> {
    let mut keys = Vec::new();
    collect_keys(table, "", &mut keys);
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

fn apply_variable(
    table: &mut Table,
    known: &[(String, Value)],
    name: &str,
    value: &str,
) -> Result<(), ConfigError> {
    let key = variable_key(&name[PREFIX.len()..]);
    let origin = variable_label(name);
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
    fn an_empty_file_is_a_configuration() {
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
    fn every_mistake_is_listed_with_its_line() {
        let text = "[session]\nidel = \"5m\"\nmax_messages = 0\n\n[server]\nport = \"high\"\ntls_key = \"k.pem\"\n\
                    [llm]\nprovider = \"abacus\"\ntemperature = 3.0\n[voice]\nenabled = true\n";
        let variables = [("ECHOVESSEL__RECALL__K", "many"), ("ECHOVESSEL__PERSONA__IDD", "x")];
        let error = with(text, &variables).unwrap_err().to_string();
        for (line, said) in [
            ("line 2", "`session.idle`"),
            ("line 3", "session.max_messages must be at least 1"),
            ("line 6", "server.port: invalid type: string \"high\""),
            ("line 7", "go together"),
            ("line 9", "llm.provider: unknown value `abacus`, expected one of `auto`, `openai`"),
            ("line 10", "from 0 to 2"),
            ("line 12", "voice.enabled needs"),
            ("ECHOVESSEL__RECALL__K", "whole number"),
            ("ECHOVESSEL__PERSONA__IDD", "`persona.id`"),
        ] {
            let is_listed = error.split("\n  ").any(|one| one.contains(line) && one.contains(said));
            assert!(is_listed, "{line}: {said}: {error}");
        }
        assert!(error.starts_with("9 mistakes:"), "{error}");
    }

    #[test]
    fn lines_of_a_text_that_is_in_no_file_are_not_named() {
        for text in ["[server]\nport = \"high\"\n", "[server]\nprot = 1\n", "[llm]\ntemperature = 3.0\n"] {
            let error = parse(text, Path::new("config.toml"), std::iter::empty()).unwrap_err().to_string();
            assert!(!error.contains("line") && !error.contains('\n'), "{error}");
        }
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
    fn enabling_an_unimplemented_section_is_refused_with_the_remedy() {
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
        let body = |size: &str| {
            with(&format!("[limits]\nbody = \"{size}\""), &[]).map(|config| config.limits.body.bytes())
        };
        assert_eq!(body("1MiB").unwrap(), 1 << 20);
        assert_eq!(body("512KiB").unwrap(), 512 << 10);
        assert_eq!(body("77").unwrap(), 77);
        assert!(body("0").is_err());
    }
}
