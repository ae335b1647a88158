//! States that a start refuses, and its output.

use crate::command_line::run;
use crate::daemon::{Daemon, Home, Settings, command, eventually};

/// Starts a daemon and stops it; returns its output.
pub(crate) async fn start_line(home: &Home, settings: &Settings) -> String {
    let mut process = command(home, settings, &["run", "--port", "0", "--no-open"])
        .stdout(std::process::Stdio::piped())
        .stderr(std::process::Stdio::null())
        .spawn()
        .unwrap();
    eventually("run.json", async || home.file("run.json").exists().then_some(())).await;
    run(home, settings, &["stop"]).await.well();
    let output = tokio::task::spawn_blocking(move || {
        process.wait().unwrap();
        std::io::read_to_string(process.stdout.take().unwrap()).unwrap()
    });
    output.await.unwrap()
}

#[tokio::test(flavor = "multi_thread")]
async fn a_voice_that_can_not_work_is_refused_at_start_with_2() {
    let home = Home::new();
    run(&home, &Settings::none(), &["init"]).await.well();
    for (section, named) in [
        ("tts_provider = \"fishaudio\"", "FISH_API_KEY"),
        ("tts_provider = \"openai\"", "OPENAI_API_KEY"),
        ("tts_provider = \"fishaudio\"\ntts_api_key_env = \"MY_FISH\"", "MY_FISH"),
        ("stt_provider = \"openai\"", "OPENAI_API_KEY"),
        ("tts_provider = \"command\"\ntts_command = [\"no-such-program\"]", "no-such-program"),
        ("stt_provider = \"command\"\nstt_command = [\"/no/such/program\"]", "/no/such/program"),
    ] {
        std::fs::write(home.file("config.toml"), format!("[voice]\nenabled = true\n{section}\n")).unwrap();
        let ran = run(&home, &Settings::offline(), &["run", "--port", "0"]).await;
        assert_eq!(ran.code, 2, "{section}: {}", ran.err);
        assert!(ran.err.contains(named) && ran.err.contains("voice."), "{}", ran.err);
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn the_start_line_names_the_hosts_of_the_voice() {
    let home = Home::new();
    run(&home, &Settings::none(), &["init"]).await.well();
    let voice = "[voice]\nenabled = true\ntts_provider = \"fishaudio\"\nstt_provider = \"openai\"\n";
    std::fs::write(home.file("config.toml"), voice).unwrap();
    let settings = Settings::offline().variable("FISH_API_KEY", "k").variable("OPENAI_API_KEY", "k");
    let printed = start_line(&home, &settings).await;
    assert!(
        printed.contains("api.fish.audio for speech, api.openai.com for transcription; no other connections"),
        "{printed}"
    );
}

#[tokio::test(flavor = "multi_thread")]
async fn a_home_that_is_not_there_is_a_slip_of_the_pen() {
    let (home, settings) = (Home::new(), Settings::offline());
    for arguments in [&["chat"][..], &["recall", "x"], &["memory", "list"], &["export", "x.zip"], &["logins"]]
    {
        let ran = run(&home, &settings, arguments).await;
        assert_eq!(ran.code, 1, "{arguments:?}: {}", ran.err);
        assert!(
            ran.err.contains("no home was found at") && ran.err.contains("echovessel init"),
            "{}",
            ran.err
        );
        assert!(!home.path().exists(), "{arguments:?} made one");
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn an_unknown_memory_is_said_with_and_without_a_daemon() {
    let (home, settings) = (Home::new(), Settings::offline());
    run(&home, &Settings::none(), &["init"]).await.well();
    let show = async |id: &str| run(&home, &settings, &["memory", "show", id]).await.err;
    assert!(show("nope").await.contains("unknown memory id `nope`"));
    let _daemon = crate::daemon::Daemon::start(&home, &settings).await;
    assert!(show("nope").await.contains("unknown memory id `nope`"));
}

#[tokio::test(flavor = "multi_thread")]
async fn open_hands_a_link_to_the_browser_in_a_file() {
    use std::os::unix::fs::PermissionsExt as _;
    let (home, settings) = (Home::new(), Settings::offline());
    let daemon = Daemon::start(&home, &settings).await;
    let programs = home.file("programs");
    std::fs::create_dir(&programs).unwrap();
    for name in ["xdg-open", "open"] {
        let program = programs.join(name);
        let script = format!(
            "#!/bin/sh\nread -r page < \"$1\"\nprintf '%s' \"$1\" > '{}/opened'\n",
            programs.display()
        );
        std::fs::write(&program, script).unwrap();
        std::fs::set_permissions(&program, std::fs::Permissions::from_mode(0o700)).unwrap();
    }
    let printed = run(&home, &settings.variable("PATH", programs.display()), &["open"]).await.well();
    let mut lines = printed.lines();
    let link = lines.next().unwrap();
    assert!(link.starts_with("http://127.0.0.1:"), "{printed}");
    assert!(lines.next().unwrap().contains("a browser is opening"), "{printed}");
    let page =
        eventually("the browser", async || std::fs::read_to_string(programs.join("opened")).ok()).await;
    assert!(std::fs::read_to_string(&page).unwrap().contains(link), "{page}");
    assert_eq!(std::fs::metadata(&page).unwrap().permissions().mode() & 0o077, 0);
    drop(daemon);
    let refused = run(&home, &Settings::offline(), &["open"]).await;
    assert_eq!(refused.code, 4, "{}", refused.err);
}
