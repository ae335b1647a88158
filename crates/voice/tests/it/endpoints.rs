use std::sync::Arc;
use std::time::Duration;

use jiff::Timestamp;
use secrecy::SecretString;
use testkit::{ScriptedVoice, SimulatedClock, VoiceFault};
use voice::{
    EndpointSettings, FishSpeaker, Listener as _, OpenAiListener, OpenAiSpeaker, Recording, Sound, Speaker,
    SpeechRequest, VoiceError, VoiceSample,
};

fn settings(base_url: String, clock: &SimulatedClock) -> EndpointSettings {
    let api_key = Some(SecretString::from("the-key"));
    EndpointSettings { base_url, model: String::new(), api_key, clock: Arc::new(clock.clone()) }
}

fn request() -> SpeechRequest {
    SpeechRequest { text: "five words are spoken here".to_owned(), voice: "nova".to_owned() }
}

fn speakers(server: &ScriptedVoice, clock: &SimulatedClock) -> [Box<dyn Speaker>; 2] {
    [
        Box::new(OpenAiSpeaker::new(&settings(server.base_url(), clock)).unwrap()),
        Box::new(FishSpeaker::new(&settings(server.origin(), clock)).unwrap()),
    ]
}

#[tokio::test]
async fn both_protocols_speak_with_voice_model_and_key() {
    let (server, clock) = (ScriptedVoice::start().await.unwrap(), SimulatedClock::new(Timestamp::UNIX_EPOCH));
    for speaker in speakers(&server, &clock) {
        let sound = speaker.speak(&request()).await.unwrap();
        assert_eq!(sound.sample_rate(), 24_000);
        assert!((sound.seconds() - 2.0).abs() < 0.01 && sound.quality().loudness_dbfs > -20.0);
    }
    let calls = server.recorded_calls();
    let bodies: Vec<serde_json::Value> =
        calls.iter().map(|call| serde_json::from_slice(&call.body).unwrap()).collect();
    assert_eq!(
        (bodies[0]["voice"].as_str(), bodies[0]["response_format"].as_str()),
        (Some("nova"), Some("wav"))
    );
    assert_eq!(
        (bodies[1]["reference_id"].as_str(), bodies[1]["format"].as_str()),
        (Some("nova"), Some("wav"))
    );
    for call in calls {
        assert!(call.headers.contains(&("authorization".to_owned(), "Bearer the-key".to_owned())));
    }
}

#[tokio::test]
async fn each_fault_becomes_a_sentence_without_words_or_key() {
    let (server, clock) = (ScriptedVoice::start().await.unwrap(), SimulatedClock::new(Timestamp::UNIX_EPOCH));
    for speaker in speakers(&server, &clock) {
        for fault in [
            VoiceFault::Status(500),
            VoiceFault::Status(401),
            VoiceFault::Quota,
            VoiceFault::Cut,
            VoiceFault::WrongType,
        ] {
            server.fail_next(fault);
            let error = speaker.speak(&request()).await.unwrap_err();
            let fits = match fault {
                VoiceFault::Status(500) | VoiceFault::Cut => matches!(error, VoiceError::Passing(_)),
                VoiceFault::Status(_) => matches!(error, VoiceError::Settings(_)),
                VoiceFault::Quota => matches!(error, VoiceError::Quota(_)),
                _ => matches!(error, VoiceError::NotSound(..)),
            };
            let words = error.to_string();
            assert!(
                fits && !words.contains("the-key") && !words.contains("five words"),
                "{fault:?}: {words}"
            );
        }
        assert!(speaker.speak(&request()).await.is_ok(), "a fault is over when it is over");
    }
}

#[tokio::test]
async fn thirty_seconds_of_nothing_end() {
    let (server, clock) = (ScriptedVoice::start().await.unwrap(), SimulatedClock::new(Timestamp::UNIX_EPOCH));
    let [speaker, _] = speakers(&server, &clock);
    server.fail_next(VoiceFault::Nothing);
    let speaking = tokio::spawn(async move { speaker.speak(&request()).await });
    server.wait_for_calls(1).await;
    clock.wait_for_sleepers(1).await;
    clock.advance(Duration::from_secs(31)).await;
    assert!(matches!(speaking.await.unwrap(), Err(VoiceError::TimedOut(_, 30))));
}

#[tokio::test]
async fn a_recording_becomes_text_and_samples_a_voice() {
    let (server, clock) = (ScriptedVoice::start().await.unwrap(), SimulatedClock::new(Timestamp::UNIX_EPOCH));
    server.set_transcript(" good morning ");
    let wav = Sound::new(vec![500; 8_000], 8_000).to_wav();
    let listener = OpenAiListener::new(&settings(server.base_url(), &clock)).unwrap();
    let recording = Recording { wav: wav.clone(), seconds: 1 };
    assert_eq!(listener.transcribe(&recording).await.unwrap(), "good morning");
    let sent = server.recorded_calls()[0].body.clone();
    assert!(sent.windows(wav.len()).any(|part| part == wav), "the sound arrives as it is");
    server.fail_next(VoiceFault::WrongType);
    assert!(listener.transcribe(&recording).await.unwrap_err().to_string().contains("not a transcript"));

    let [openai, fish] = speakers(&server, &clock);
    let samples = [VoiceSample { file_name: "my \"voice\".wav".to_owned(), wav }];
    assert_eq!(fish.clone_voice("Ann", &samples).await.unwrap(), "cloned-voice");
    assert!(
        String::from_utf8_lossy(&server.recorded_calls()[2].body).contains("filename=\"my__voice_.wav\"")
    );
    assert!(matches!(openai.clone_voice("Ann", &samples).await, Err(VoiceError::Unsupported(_))));
}

#[test]
fn words_and_keys_go_only_where_nobody_listens() {
    let clock = SimulatedClock::new(Timestamp::UNIX_EPOCH);
    for url in ["http://voice.example/v1", "ftp://127.0.0.1", "voice"] {
        assert!(OpenAiSpeaker::new(&settings(url.to_owned(), &clock)).is_err(), "{url}");
        assert!(!voice::is_secure_url(url));
    }
    assert!(voice::is_secure_url("") && voice::is_secure_url("https://voice.example/v1"));
}
