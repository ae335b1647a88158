//! Speech and transcription over HTTP: espeak-ng really speaks, a mock provider fails on demand.

use std::path::PathBuf;
use std::process::Command;
use std::sync::Arc;
use std::time::Duration;

use axum::body::{Body, to_bytes};
use axum::http::header::{AUTHORIZATION, CONTENT_TYPE, HOST, RANGE};
use axum::http::{Method, Request, Response};
use runtime::{Ledger, OptionalParts, VoiceParts, VoiceSettings, WireEvent};
use serde_json::{Value, json};
use tempfile::TempDir;
use testkit::{ScriptedVoice, SimulatedClock, VoiceFault};
use voice::{
    CommandSpeaker, EndpointSettings, FishSpeaker, LengthTrust, OpenAiListener, OpenAiSpeaker, Sound,
};

use crate::home::{Answer, HOSTNAME, Home, TOKEN, scope, until};
use crate::talker::Reply;

struct Stage {
    home: Home,
    folder: TempDir,
    ledger: Arc<Ledger>,
}

impl Stage {
    async fn new(settings: impl FnOnce(&SimulatedClock) -> VoiceSettings) -> Self {
        let folder = tempfile::tempdir().unwrap();
        let mut ledger = None;
        let home = Home::with_parts(|store, clock| {
            let ledger = ledger.insert(Ledger::start(store.clone())).clone();
            let voice = VoiceParts { folder: folder.path().to_owned(), ledger, settings: settings(clock) };
            OptionalParts { voice: Some(voice), ..OptionalParts::default() }
        })
        .await;
        let ledger = ledger.unwrap();
        home.post("/api/admin/persona/voice-toggle", json!({"enabled": true})).await;
        Self { home, folder, ledger }
    }

    async fn espeak() -> Self {
        Self::new(|clock| {
            let command = ["espeak-ng", "--stdout", "-v", "{voice}"].map(str::to_owned).into();
            VoiceSettings {
                speaker: Some(Arc::new(CommandSpeaker::new(command, Arc::new(clock.clone())))),
                voice: "en-us".to_owned(),
                chinese_voice: "cmn".to_owned(),
                ..VoiceSettings::default()
            }
        })
        .await
    }

    async fn scripted(server: &ScriptedVoice) -> Self {
        Self::new(|clock| VoiceSettings {
            speaker: Some(Arc::new(OpenAiSpeaker::new(&endpoint(clock, server.base_url())).unwrap())),
            listener: Some(Arc::new(OpenAiListener::new(&endpoint(clock, server.base_url())).unwrap())),
            keep_recordings: true,
            ..VoiceSettings::default()
        })
        .await
    }

    fn files(&self) -> Vec<PathBuf> {
        let list = |folder: PathBuf| std::fs::read_dir(folder).into_iter().flatten();
        let folders = list(self.folder.path().join("messages")).map(|entry| entry.unwrap().path());
        folders.flat_map(list).map(|entry| entry.unwrap().path()).collect()
    }

    /// Sends a message; returns the events from the start of the reply to the end of its speech.
    async fn hear(&self, content: &str, last: &str) -> Vec<Arc<WireEvent>> {
        let mut watcher = self.home.runtime.broadcast().subscribe();
        self.home.post("/api/chat/send", json!({"content": content})).await;
        let names = ["chat.message.voice_sentence", "chat.message.done", "chat.message.voice_ready"];
        let mut heard = Vec::new();
        loop {
            let event = until(&mut watcher, &names).await;
            heard.push(event.clone());
            if event.name == last {
                return heard;
            }
        }
    }

    async fn trace(&self, event: &WireEvent) -> Value {
        let path = format!("/api/admin/turns/{}", event.data["turn_id"].as_str().unwrap());
        loop {
            let answer = self.home.get(&path).await;
            if answer.status == 200 && answer.text.contains("\"voice\"") {
                return answer.json();
            }
            tokio::task::yield_now().await;
        }
    }
}

fn endpoint(clock: &SimulatedClock, base_url: String) -> EndpointSettings {
    EndpointSettings { base_url, model: String::new(), api_key: None, clock: Arc::new(clock.clone()) }
}

async fn get(home: &Home, path: &str, range: Option<&str>) -> Response<Body> {
    let mut request = Request::builder().uri(path).header(HOST, HOSTNAME);
    request = request.header(AUTHORIZATION, format!("Bearer {TOKEN}"));
    if let Some(range) = range {
        request = request.header(RANGE, range);
    }
    home.raw(request.body(Body::empty()).unwrap()).await
}

async fn bytes(response: Response<Body>) -> Vec<u8> {
    to_bytes(response.into_body(), usize::MAX).await.unwrap().to_vec()
}

async fn upload(home: &Home, path: &str, file: &[u8]) -> Answer {
    let head = "--border\r\nContent-Disposition: form-data; name=\"file\"; filename=\"me.wav\"\r\n\r\n";
    let body = [head.as_bytes(), file, b"\r\n--border--\r\n"].concat();
    let request = Request::builder().method(Method::POST).uri(path).header(HOST, HOSTNAME);
    let request = request.header(AUTHORIZATION, format!("Bearer {TOKEN}"));
    let request = request.header(CONTENT_TYPE, "multipart/form-data; boundary=border");
    Answer::of(home.raw(request.body(Body::from(body)).unwrap()).await).await
}

fn tone(seconds: usize) -> Vec<u8> {
    let level = |index: usize| if index % 80 < 40 { 6_000 } else { -6_000 };
    Sound::new((0..seconds * 16_000).map(level).collect(), 16_000).to_wav()
}

#[tokio::test(flavor = "multi_thread")]
async fn speech_of_two_languages_is_made_by_sentence_and_erased_with_its_message() {
    let stage = Stage::espeak().await;
    let home = &stage.home;
    home.talker.next(Reply::Says(vec!["I remember your cat. ", "你的猫叫小黑，", "它很可爱。", " Bye!"]));
    let events = stage.hear("Do you remember my cat?", "chat.message.voice_ready").await;
    let (ready, done) =
        (events.last().unwrap(), events.iter().find(|event| event.name == "chat.message.done"));
    assert_eq!(events.iter().filter(|event| event.name == "chat.message.voice_sentence").count(), 3);
    assert_eq!(ready.data["message_id"], done.unwrap().data["message_id"]);
    assert_eq!(ready.data["cached"], false);

    let url = ready.data["url"].as_str().unwrap().to_owned();
    let whole = get(home, &url, None).await;
    assert_eq!(whole.headers()[CONTENT_TYPE], "audio/wav");
    let wav = bytes(whole).await;
    let sound = Sound::read(&wav, LengthTrust::Exact, 60).unwrap();
    let seconds = ready.data["duration_seconds"].as_f64().unwrap();
    assert!((sound.seconds() - seconds).abs() < 0.01 && sound.sample_rate() == 22_050);
    let estimate: f64 = ["I remember your cat.", "你的猫叫小黑，它很可爱。", "Bye!"]
        .map(voice::estimated_duration)
        .iter()
        .sum();
    assert!((seconds / estimate - 1.0).abs() <= 0.2, "{seconds} s, estimated {estimate} s");
    assert!(sound.quality().loudness_dbfs > -40.0);
    let first = events.iter().find(|event| event.name == "chat.message.voice_sentence").unwrap();
    let first = bytes(get(home, first.data["url"].as_str().unwrap(), None).await).await;
    assert_eq!(wav[44..1_000], first[44..1_000], "the reply begins with its first sentence");

    let part = get(home, &url, Some("bytes=44-143")).await;
    assert_eq!(part.status(), 206);
    assert_eq!(part.headers()["content-range"].to_str().unwrap(), format!("bytes 44-143/{}", wav.len()));
    assert_eq!(bytes(part).await, wav[44..144]);
    assert_eq!(get(home, &url, Some("bytes=999999999-")).await.status(), 416);
    assert_eq!(bytes(get(home, &url, Some("bytes=-10")).await).await, wav[wav.len() - 10..]);

    let again = home.ask(Method::POST, url.trim_end_matches(".mp3"), None).await.json();
    assert_eq!(again["cached"], true);
    let trace = stage.trace(ready).await;
    assert!(trace.to_string().contains("\"outcome\":\"spoken\""), "{trace}");
    stage.ledger.close().await;
    let calls = home.get("/api/admin/cost/recent").await.text;
    assert!(calls.contains("espeak-ng") && calls.contains("speech"), "{calls}");

    let stranger = home.token("ann-phone", &["chat"], Some("ann")).await;
    home.ask_with(&stranger, Method::GET, &url, None).await.is_problem(404);
    let id = ready.data["stored_message_id"].as_str().unwrap();
    let files = stage.files();
    assert_eq!(files.len(), 1);
    #[cfg(unix)]
    {
        use std::os::unix::fs::PermissionsExt as _;
        let mode = files[0].metadata().unwrap().permissions().mode();
        assert_eq!(mode & 0o077, 0, "only its owner hears what was said");
    }
    assert_eq!(home.ask(Method::DELETE, &format!("/api/chat/messages/{id}"), None).await.status, 200);
    assert_eq!(stage.files(), Vec::<PathBuf>::new());
    home.get(&url).await.is_problem(404);
    let sentence = format!("/api/chat/voice/live/{}/0", ready.data["turn_id"].as_str().unwrap());
    home.get(&sentence).await.is_problem(404);
}

#[tokio::test(flavor = "multi_thread")]
async fn failures_leave_text_say_why_and_rest_after_three() {
    let server = ScriptedVoice::start().await.unwrap();
    let stage = Stage::scripted(&server).await;
    let home = &stage.home;
    for fault in [VoiceFault::Status(500), VoiceFault::Quota, VoiceFault::WrongType] {
        server.fail_next(fault);
        let events = stage.hear("hello", "chat.message.done").await;
        let trace = stage.trace(events.last().unwrap()).await.to_string();
        assert!(trace.contains("\"outcome\":\"text_only\""), "{trace}");
    }
    let asked = server.recorded_calls().len();
    let events = stage.hear("hello", "chat.message.done").await;
    let trace = stage.trace(events.last().unwrap()).await.to_string();
    assert!(trace.contains("the voice is paused until"), "{trace}");
    assert_eq!(server.recorded_calls().len(), asked, "nobody is asked while it rests");
    assert!(home.get("/api/admin/voice").await.json()["rests_until"].is_string());
    assert_eq!(stage.files().len(), 0);
    home.wait(Duration::from_secs(301)).await;
    let events = stage.hear("hello", "chat.message.voice_ready").await;
    let ready = &events.last().unwrap().data;
    assert_eq!(ready["duration_seconds"], 1.2);
    let sound = bytes(get(home, ready["url"].as_str().unwrap(), None).await).await;
    let path = format!("/api/chat/voice/{}.mp3", ready["message_id"].as_str().unwrap());
    let by_event = bytes(get(home, &path, None).await).await;
    assert!(by_event == sound && sound.starts_with(b"RIFF"), "the id of the event names it too");
}

#[tokio::test(flavor = "multi_thread")]
async fn whole_reset_takes_sound_and_samples() {
    let stage = Stage::espeak().await;
    stage.hear("hello", "chat.message.voice_ready").await;
    assert_eq!(upload(&stage.home, "/api/admin/voice/samples", &tone(4)).await.status, 200);
    assert_eq!(stage.files().len(), 1);
    stage.home.runtime.changes().reset_persona(&scope("self").persona).await.unwrap();
    assert_eq!(stage.files().len(), 0);
    assert_eq!(stage.home.get("/api/admin/voice/samples").await.json()["count"], 0);
}

#[tokio::test(flavor = "multi_thread")]
async fn recording_becomes_a_message_and_is_kept_with_it() {
    let server = ScriptedVoice::start().await.unwrap();
    let stage = Stage::scripted(&server).await;
    let home = &stage.home;
    server.set_transcript("good morning");
    let espeak =
        Command::new("espeak-ng").args(["-v", "en-us", "-w", "/dev/stdout", "good morning"]).output();
    let wav = Sound::read(&espeak.unwrap().stdout, LengthTrust::UntilTheEnd, 60).unwrap().to_wav();
    let heard = upload(home, "/api/chat/transcribe", &wav).await.json();
    assert_eq!(heard["text"], "good morning");
    let body = json!({"content": "good morning", "recording_id": heard["recording_id"]});
    let sent = home.post("/api/chat/send", body).await.json();
    let id = sent["accepted"][0].as_str().unwrap();
    let url = format!("/api/chat/voice/{id}.mp3");
    assert_eq!(bytes(get(home, &url, None).await).await, wav);
    let edited = home
        .ask(Method::PATCH, &format!("/api/chat/messages/{id}"), Some(json!({"content": "good night"})))
        .await;
    assert_eq!(edited.status, 200);
    home.get(&url).await.is_problem(404);
    let odd = json!({"content": "hi", "recording_id": "../../home"});
    assert_eq!(home.post("/api/chat/send", odd).await.status, 202);
}

#[tokio::test(flavor = "multi_thread")]
async fn bad_recordings_and_samples_are_refused_with_a_reason() {
    let server = ScriptedVoice::start().await.unwrap();
    let stage = Stage::scripted(&server).await;
    let mut lying = tone(4);
    lying[40..44].copy_from_slice(&0x7fff_0000u32.to_le_bytes());
    let noise: Vec<u8> =
        (0..3_000_000u32).map(|index| (index.wrapping_mul(2_654_435_761) >> 24) as u8).collect();
    let silence = Sound::new(vec![0; 80_000], 16_000).to_wav();
    let hours = Sound::new(vec![500; 8_000 * 700], 8_000).to_wav();
    let mut cut = Sound::new(vec![500; 16_000], 16_000).to_ogg_opus().unwrap();
    cut.truncate(200);
    for (file, reason) in [
        (&[][..], "empty"),
        (&noise, "neither a WAV nor an Ogg Opus file"),
        (&lying, "its header announces"),
        (&silence, "silent"),
        (&hours, "it lasts 700 s"),
        (&cut, "its header is damaged"),
    ] {
        for path in ["/api/chat/transcribe", "/api/admin/voice/samples"] {
            let refused = upload(&stage.home, path, file).await.is_problem(400);
            assert!(refused.contains(reason), "{path}: {refused}");
        }
    }
    let short = upload(&stage.home, "/api/admin/voice/samples", &tone(2)).await.is_problem(400);
    assert!(short.contains("shorter than 3 s"), "{short}");
    let large = vec![0; 51 * 1024 * 1024];
    upload(&stage.home, "/api/admin/voice/samples", &large).await.is_problem(413);
    assert!(server.recorded_calls().is_empty(), "nothing of it left this machine");
}

#[tokio::test(flavor = "multi_thread")]
async fn samples_become_a_voice_that_speaks() {
    let server = ScriptedVoice::start().await.unwrap();
    let stage = Stage::new(|clock| VoiceSettings {
        speaker: Some(Arc::new(FishSpeaker::new(&endpoint(clock, server.origin())).unwrap())),
        ..VoiceSettings::default()
    })
    .await;
    let home = &stage.home;
    home.post("/api/admin/voice/clone", json!({"display_name": "Ann"})).await.is_problem(400);
    let accepted = upload(home, "/api/admin/voice/samples", &tone(4)).await.json();
    assert_eq!((&accepted["accepted"], &accepted["duration_seconds"]), (&json!(true), &json!(4.0)));
    let list = home.get("/api/admin/voice/samples").await.json();
    assert_eq!((&list["count"], &list["samples"][0]["filename"]), (&json!(1), &json!("me.wav")));
    let cloned = home.post("/api/admin/voice/clone", json!({"display_name": "Ann"})).await.json();
    assert_eq!(cloned["voice_id"], "cloned-voice");
    let request =
        Request::builder().method(Method::POST).uri("/api/admin/voice/preview").header(HOST, HOSTNAME);
    let request =
        request.header(AUTHORIZATION, format!("Bearer {TOKEN}")).header(CONTENT_TYPE, "application/json");
    let body = json!({"voice_id": "cloned-voice", "text": "one two"}).to_string();
    let preview = home.raw(request.body(Body::from(body)).unwrap()).await;
    assert_eq!(preview.headers()[CONTENT_TYPE], "audio/wav");
    let preview = Sound::read(&bytes(preview).await, LengthTrust::Exact, 9).unwrap();
    assert!((preview.seconds() - 0.8).abs() < 0.01);
    let body = json!({"voice_id": "cloned-voice"});
    assert_eq!(home.post("/api/admin/voice/activate", body).await.json()["activated"], true);
    assert_eq!(home.get("/api/admin/voice").await.json()["voice_id"], "cloned-voice");
    stage.hear("hello", "chat.message.voice_ready").await;
    let last = server.recorded_calls().pop().unwrap();
    assert!(String::from_utf8_lossy(&last.body).contains("\"reference_id\":\"cloned-voice\""));
    let path = format!("/api/admin/voice/samples/{}", accepted["sample_id"].as_str().unwrap());
    assert_eq!(home.ask(Method::DELETE, &path, None).await.json()["deleted"], true);
    home.ask(Method::DELETE, &path, None).await.is_problem(404);
}

#[tokio::test]
async fn without_a_voice_each_path_says_so() {
    let home = Home::new().await;
    home.talk("hello").await;
    let history = home.get("/api/chat/history").await.json();
    let id = history["messages"][0]["id"].as_str().unwrap();
    home.ask(Method::POST, &format!("/api/chat/voice/{id}"), None).await.is_problem(503);
    home.get("/api/chat/voice/771204.mp3").await.is_problem(404);
    home.post("/api/admin/voice/clone", json!({"display_name": "Ann"})).await.is_problem(503);
    assert_eq!(home.get("/api/admin/voice").await.json()["tts_provider"], Value::Null);
}
