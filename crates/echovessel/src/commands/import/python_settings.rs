//! Converts the settings of the Python EchoVessel: its `config.toml` with the names and units of this program.

use std::path::Path;

use anyhow::Context as _;
use serde_json::{Value as Json, json};
use toml::{Table, Value};

use crate::config::{self, ConfigChange};
use crate::home::{Home, replace_file};

/// Unit of a setting in the Python program.
#[derive(Clone, Copy)]
enum SettingUnit {
    /// The setting has no unit, or the same one here.
    Same,
    Milliseconds,
    Seconds,
    Minutes,
    Hours,
    Days,
}

/// Settings that have the same name here. Others are not copied even if a setting of that name exists here: some of
/// ours start programs. Discord stays off, because two programs would answer for one bot.
const SAME_KEYS: [&str; 23] = [
    "persona.id",
    "persona.display_name",
    "llm.provider",
    "llm.base_url",
    "llm.api_key_env",
    "llm.model",
    "llm.max_tokens",
    "llm.temperature",
    "consolidate.trivial_message_count",
    "consolidate.trivial_token_count",
    "consolidate.reflection_hard_gate_24h",
    "proactive.enabled",
    "proactive.quiet_hours_start",
    "proactive.quiet_hours_end",
    "proactive.max_per_24h",
    "proactive.cold_user_threshold",
    "voice.enabled",
    "voice.tts_provider",
    "voice.tts_api_key_env",
    "voice.stt_provider",
    "voice.stt_api_key_env",
    "channels.discord.token_env",
    "channels.discord.allowed_user_ids",
];

/// Settings whose name or unit differs: their name, the name here, their unit.
const RENAMED_KEYS: [(&str, &str, SettingUnit); 28] = [
    ("memory.retrieve_k", "recall.k", SettingUnit::Same),
    ("memory.recent_window_size", "recall.recent_window", SettingUnit::Same),
    ("memory.relational_bonus_weight", "recall.weight_relational", SettingUnit::Same),
    ("llm.timeout_seconds", "llm.timeout", SettingUnit::Seconds),
    ("runtime.turn_timeout_seconds", "limits.turn_timeout", SettingUnit::Seconds),
    ("persona.voice_id", "voice.tts_voice", SettingUnit::Same),
    ("llm.models.fast", "llm.models.small", SettingUnit::Same),
    ("llm.models.judge", "llm.models.medium", SettingUnit::Same),
    ("llm.models.main", "llm.models.large", SettingUnit::Same),
    ("llm.tier_models.small", "llm.models.small", SettingUnit::Same),
    ("llm.tier_models.medium", "llm.models.medium", SettingUnit::Same),
    ("llm.tier_models.large", "llm.models.large", SettingUnit::Same),
    ("consolidate.worker_poll_seconds", "consolidate.poll_every", SettingUnit::Seconds),
    ("consolidate.worker_max_retries", "consolidate.max_retries", SettingUnit::Same),
    ("dev_trace.enabled", "trace.enabled", SettingUnit::Same),
    ("dev_trace.retention_days", "trace.retention", SettingUnit::Days),
    ("idle_scanner.interval_seconds", "session.scan_every", SettingUnit::Seconds),
    ("slow_tick.enabled", "slow_cycle.enabled", SettingUnit::Same),
    ("slow_tick.cool_down_minutes", "slow_cycle.cool_down", SettingUnit::Minutes),
    ("slow_tick.daily_cap", "slow_cycle.daily_cycles", SettingUnit::Same),
    ("slow_tick.daily_input_token_budget", "slow_cycle.daily_input_tokens", SettingUnit::Same),
    ("slow_tick.daily_output_token_budget", "slow_cycle.daily_output_tokens", SettingUnit::Same),
    ("proactive.tick_interval_seconds", "proactive.tick", SettingUnit::Seconds),
    ("proactive.cold_user_response_window_hours", "proactive.cold_user_response_window", SettingUnit::Hours),
    ("proactive.long_silence_hours", "proactive.long_silence", SettingUnit::Hours),
    ("proactive.use_voice_when_available", "proactive.use_voice", SettingUnit::Same),
    ("channels.web.debounce_ms", "channels.web.debounce", SettingUnit::Milliseconds),
    ("channels.discord.debounce_ms", "channels.discord.debounce", SettingUnit::Milliseconds),
];

/// Result for each setting, by its name in the Python program's file.
#[derive(Debug, Default, PartialEq, Eq)]
pub(super) struct SettingsReport {
    pub(super) taken: Vec<String>,
    /// Settings that this home's file sets already; they stay as they are.
    pub(super) set_here: Vec<String>,
    /// Each with the reason in brackets.
    pub(super) refused: Vec<String>,
    /// Settings of the other program that this program does not have.
    pub(super) unused: Vec<String>,
}

impl SettingsReport {
    pub(super) fn as_json(&self) -> Json {
        json!({"taken": self.taken, "set_here": self.set_here, "refused": self.refused, "unused": self.unused})
    }
}

/// Copies settings from the `config.toml` of a Python home into this home's `config.toml`, unless they are set here;
/// `None` if the Python home has none. `python_home` is its folder or its `memory.db`.
///
/// # Errors
///
/// If either file can't be read, theirs is not TOML, or ours can't be written. Ours is unchanged then.
pub(super) fn take_over_settings(python_home: &Path, home: &Home) -> anyhow::Result<Option<SettingsReport>> {
    let folder = if python_home.is_dir() { Some(python_home) } else { python_home.parent() };
    let Some(theirs) = folder.map(|folder| folder.join("config.toml")) else { return Ok(None) };
    let Some(theirs_text) = read_optional_file(&theirs)? else { return Ok(None) };
    let settings: Table = theirs_text.parse().with_context(|| {
        format!("the settings in {} were skipped: it is not valid TOML", theirs.display())
    })?;
    let path = home.config();
    let before = read_optional_file(&path)?.unwrap_or_default();
    let (text, report) = merge(&before, &settings, &path)?;
    if text != before {
        replace_file(&path, text.as_bytes())
            .with_context(|| format!("{} can't be written", path.display()))?;
    }
    Ok(Some(report))
}

fn read_optional_file(path: &Path) -> anyhow::Result<Option<String>> {
    match std::fs::read_to_string(path) {
        Ok(text) => Ok(Some(text)),
        Err(error) if error.kind() == std::io::ErrorKind::NotFound => Ok(None),
        Err(error) => Err(error).with_context(|| format!("{} can't be read", path.display())),
    }
}

/// Our file with their settings added. Each setting is tried alone, so that an invalid one does not affect the
/// others, and once more at the end, because it may need a setting that follows.
fn merge(before: &str, settings: &Table, path: &Path) -> anyhow::Result<(String, SettingsReport)> {
    let known = config::known_keys()?;
    let mut leaves = Vec::new();
    collect_leaves("", settings, &mut leaves);
    let (mut text, mut report) = (before.to_owned(), SettingsReport::default());
    let mut changes = Vec::new();
    for (name, value) in leaves {
        let Some(change) = to_config_change(&name, value, &known) else {
            report.unused.push(name);
            continue;
        };
        if config::has_key(before, &change.key) {
            report.set_here.push(name);
            continue;
        }
        changes.push((name, change));
    }
    let with = |text: &str, change: &ConfigChange| {
        let changed = config::apply_changes(text, std::slice::from_ref(change))?;
        config::parse(&changed, path, std::env::vars()).map_err(|error| error.to_string())?;
        Ok::<_, String>(changed)
    };
    for is_last in [false, true] {
        for (name, change) in std::mem::take(&mut changes) {
            match with(&text, &change) {
                Ok(changed) => {
                    text = changed;
                    report.taken.push(name);
                }
                Err(reason) if is_last => report.refused.push(format!("{name} ({reason})")),
                Err(_) => changes.push((name, change)),
            }
        }
    }
    Ok((text, report))
}

fn collect_leaves<'a>(section: &str, table: &'a Table, leaves: &mut Vec<(String, &'a Value)>) {
    for (name, value) in table {
        let name = if section.is_empty() { name.clone() } else { format!("{section}.{name}") };
        match value {
            Value::Table(inner) => collect_leaves(&name, inner, leaves),
            value => leaves.push((name, value)),
        }
    }
}

/// The change of our configuration for one of their settings; `None` if we have no such setting.
fn to_config_change(name: &str, value: &Value, known: &[(String, Value)]) -> Option<ConfigChange> {
    let same = SAME_KEYS.contains(&name).then_some((name, SettingUnit::Same));
    let (key, unit) =
        RENAMED_KEYS.iter().find(|(old, ..)| *old == name).map(|(_, key, unit)| (*key, *unit)).or(same)?;
    let value = match (key, value) {
        ("voice.tts_provider" | "voice.stt_provider", Value::String(provider)) => {
            json!(match provider.as_str() {
                "stub" => "none",
                "whisper_api" => "openai",
                provider => provider,
            })
        }
        ("llm.provider", Value::String(provider)) => {
            json!(match provider.as_str() {
                "openai_compat" => "openai",
                "stub" => "offline",
                provider => provider,
            })
        }
        // The Python program uses numbers, this one texts.
        ("channels.discord.allowed_user_ids", Value::Array(ids)) => {
            ids.iter().map(|id| id.as_integer().map(|id| id.to_string())).collect::<Option<Vec<_>>>()?.into()
        }
        (_, value) => parse_duration(value, unit)?,
    };
    config::changes_in(&json!({ key: value }), known).ok()?.pop()
}

/// The value, a number with a unit as a duration; `None` if a unit has no number.
fn parse_duration(value: &Value, unit: SettingUnit) -> Option<Json> {
    let milliseconds = match unit {
        SettingUnit::Same => return serde_json::to_value(value).ok(),
        SettingUnit::Milliseconds => 1.0,
        SettingUnit::Seconds => 1_000.0,
        SettingUnit::Minutes => 60_000.0,
        SettingUnit::Hours => 3_600_000.0,
        SettingUnit::Days => 86_400_000.0,
    };
    let number = value.as_float().or_else(|| value.as_integer().map(|number| number as f64))?;
    let period = std::time::Duration::try_from_secs_f64(number * milliseconds / 1_000.0).ok()?;
    Some(json!(config::ConfigDuration(period).to_string()))
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The sample that the Python program writes, with a person's changes.
    const PYTHON_SETTINGS: &str = r#"
        [runtime]
        data_dir = "~/.echovessel"
        turn_timeout_seconds = 90
        [persona]
        id = "luna"
        display_name = "Luna"
        voice_id = "f3a1"
        [memory]
        db_path = "memory.db"
        retrieve_k = 14
        relational_bonus_weight = 1.5
        [llm]
        provider = "openai_compat"
        base_url = "http://127.0.0.1:11434/v1"
        api_key_env = "MY_KEY"
        max_tokens = 1024
        timeout_seconds = 45
        [llm.models]
        fast = "little"
        main = "big"
        [consolidate]
        trivial_message_count = 4
        worker_poll_seconds = 2.5
        [idle_scanner]
        interval_seconds = 30
        [slow_tick]
        cool_down_minutes = 45
        [proactive]
        enabled = true
        quiet_hours_start = 22
        long_silence_hours = 72
        audit_sink = "jsonl"
        [voice]
        stt_provider = "stub"
        [channels.web]
        host = "0.0.0.0"
        debounce_ms = 1500
        [channels.discord]
        enabled = true
        allowed_user_ids = [4711, 815]
        [channels.imessage]
        enabled = true
    "#;

    fn merge_into(before: &str, theirs: &str) -> (Table, SettingsReport) {
        let path = Path::new("config.toml");
        let (text, report) = merge(before, &theirs.parse().unwrap(), path).unwrap();
        config::parse(&text, path, std::iter::empty()).unwrap();
        (text.parse().unwrap(), report)
    }

    #[test]
    fn their_settings_have_our_names_and_units() {
        let (taken, report) = merge_into("", PYTHON_SETTINGS);
        let expected: Table = r#"
            [limits]
            turn_timeout = "90s"
            [persona]
            id = "luna"
            display_name = "Luna"
            [recall]
            k = 14
            weight_relational = 1.5
            [llm]
            provider = "openai"
            base_url = "http://127.0.0.1:11434/v1"
            api_key_env = "MY_KEY"
            max_tokens = 1024
            timeout = "45s"
            [llm.models]
            small = "little"
            large = "big"
            [consolidate]
            trivial_message_count = 4
            poll_every = "2500ms"
            [session]
            scan_every = "30s"
            [slow_cycle]
            cool_down = "45m"
            [proactive]
            enabled = true
            quiet_hours_start = 22
            long_silence = "3d"
            [voice]
            tts_voice = "f3a1"
            stt_provider = "none"
            [channels.web]
            debounce = "1500ms"
            [channels.discord]
            allowed_user_ids = ["4711", "815"]
        "#
        .parse()
        .unwrap();
        let normal = |table: &Table| -> config::Config { table.clone().try_into().unwrap() };
        assert_eq!(normal(&taken), normal(&expected), "{report:?}");
        let unused = [
            "runtime.data_dir",
            "memory.db_path",
            "proactive.audit_sink",
            "channels.web.host",
            "channels.discord.enabled",
            "channels.imessage.enabled",
        ];
        assert_eq!(report.unused.len(), unused.len(), "{report:?}");
        assert!(unused.iter().all(|name| report.unused.iter().any(|other| other == name)), "{report:?}");
    }

    #[test]
    fn existing_settings_are_not_overwritten() {
        let (taken, report) = merge_into("# mine\n[llm]\nprovider = \"offline\"\n", PYTHON_SETTINGS);
        assert_eq!(taken["llm"]["provider"].as_str(), Some("offline"));
        assert_eq!(taken["persona"]["id"].as_str(), Some("luna"));
        assert_eq!(report.set_here, ["llm.provider"]);
    }

    #[test]
    fn a_setting_is_imported_with_those_it_needs() {
        let voice = "[voice]\nenabled = true\ntts_provider = \"fishaudio\"\nstt_provider = \"whisper_api\"\n";
        let (taken, report) = merge_into("", voice);
        assert_eq!(taken["voice"]["enabled"].as_bool(), Some(true), "{report:?}");
        let (taken, report) = merge_into("", "[voice]\nenabled = true\n");
        assert!(taken.is_empty() && report.refused.len() == 1, "{report:?}");
    }

    #[test]
    fn a_program_setting_is_never_imported() {
        let (taken, report) = merge_into("", "[voice]\ntts_command = [\"sh\"]\n[sync]\ncommand = [\"sh\"]\n");
        assert!(taken.is_empty() && report.unused.len() == 2, "{report:?}");
    }

    #[test]
    fn a_refused_value_affects_no_other() {
        let (taken, report) = merge_into(
            "",
            "[proactive]\nquiet_hours_start = 99\nmax_per_24h = 5\n[idle_scanner]\ninterval_seconds = \"soon\"\n",
        );
        assert_eq!(taken["proactive"]["max_per_24h"].as_integer(), Some(5));
        assert_eq!(report.unused, ["idle_scanner.interval_seconds"]);
        let [refused] = report.refused.as_slice() else { panic!("{:?}", report.refused) };
        assert!(
            refused.starts_with("proactive.quiet_hours_start (") && refused.contains("quiet"),
            "{refused}"
        );
    }

    #[test]
    fn a_home_without_settings_changes_nothing() {
        let folder = tempfile::tempdir().unwrap();
        let home = Home::locate(Some(folder.path().join("ours"))).unwrap();
        home.create().unwrap();
        assert_eq!(take_over_settings(folder.path(), &home).unwrap(), None);
        std::fs::write(folder.path().join("config.toml"), "not = [toml").unwrap();
        assert!(take_over_settings(folder.path(), &home).is_err());
        assert!(!home.config().exists());
        std::fs::write(folder.path().join("config.toml"), "[persona]\nid = \"luna\"\n").unwrap();
        let report = take_over_settings(&folder.path().join("memory.db"), &home).unwrap().unwrap();
        assert_eq!(report.taken, ["persona.id"]);
        assert_eq!(std::fs::read_to_string(home.config()).unwrap(), "[persona]\nid = \"luna\"\n");
    }
}
