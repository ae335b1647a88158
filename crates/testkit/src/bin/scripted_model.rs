//! A scripted language model on a port of this machine: an OpenAI-compatible endpoint (and Anthropic's) with
//! plausible answers, at a configurable speed.

use std::net::SocketAddr;
use std::process::ExitCode;
use std::time::Duration;

use testkit::scripted_model::{Pace, ScriptedModel, answer_plausibly};

const USAGE: &str = "\
Usage: scripted-model [--port PORT] [--first-token MILLISECONDS] [--between-tokens MILLISECONDS] [--key KEY]

Serves /v1/chat/completions, /v1/models and /v1/messages on 127.0.0.1 until it is stopped.

  --port PORT                      11434 unless given, where the daemon looks for a local model; 0 takes a free one
  --first-token MILLISECONDS       how long it thinks before it speaks (300)
  --between-tokens MILLISECONDS    how long it takes for a word (30)
  --key KEY                        refuses requests without this key";

struct Options {
    port: u16,
    pace: Pace,
    key: Option<String>,
}

#[tokio::main]
async fn main() -> ExitCode {
    let options = match read_options(std::env::args().skip(1)) {
        Ok(Some(options)) => options,
        Ok(None) => {
            println!("{USAGE}");
            return ExitCode::SUCCESS;
        }
        Err(error) => {
            eprintln!("{error}\n\n{USAGE}");
            return ExitCode::from(2);
        }
    };
    let address = SocketAddr::from(([127, 0, 0, 1], options.port));
    let model = match ScriptedModel::start_at(address).await {
        Ok(model) => model,
        Err(error) => {
            eprintln!("scripted-model can't listen on {address}: {error}");
            return ExitCode::FAILURE;
        }
    };
    answer_plausibly(&model, options.pace);
    if let Some(key) = options.key {
        model.require_key(&key);
    }
    println!("{}", model.base_url());
    std::future::pending().await
}

/// Parses the options; `None` if help is requested.
fn read_options(mut arguments: impl Iterator<Item = String>) -> Result<Option<Options>, String> {
    let pace = Pace { first_token: Duration::from_millis(300), between_tokens: Duration::from_millis(30) };
    let mut options = Options { port: 11434, pace, key: None };
    while let Some(name) = arguments.next() {
        if matches!(name.as_str(), "-h" | "--help") {
            return Ok(None);
        }
        let value = arguments.next().ok_or_else(|| format!("{name} needs a value"))?;
        let not_a_number = |_| format!("{name} takes a number, not {value:?}");
        match name.as_str() {
            "--port" => options.port = value.parse().map_err(not_a_number)?,
            "--first-token" => {
                options.pace.first_token = Duration::from_millis(value.parse().map_err(not_a_number)?);
            }
            "--between-tokens" => {
                options.pace.between_tokens = Duration::from_millis(value.parse().map_err(not_a_number)?);
            }
            "--key" => options.key = Some(value),
            _ => return Err(format!("there is no option {name}")),
        }
    }
    Ok(Some(options))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn read(arguments: &[&str]) -> Result<Option<Options>, String> {
        read_options(arguments.iter().map(|&argument| argument.to_owned()))
    }

    #[test]
    fn options_are_read_and_wrong_ones_refused() {
        let options = read(&["--port", "0", "--first-token", "5"]).unwrap().unwrap();
        assert_eq!((options.port, options.pace.first_token), (0, Duration::from_millis(5)));
        assert!(read(&["--help"]).unwrap().is_none());
        for wrong in [&["--port"][..], &["--port", "many"], &["--what", "1"]] {
            assert!(read(wrong).is_err(), "{wrong:?}");
        }
    }
}
