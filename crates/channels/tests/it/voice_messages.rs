//! Voice messages: they are transcribed before the reply, and the reply is also sent as speech.

use std::collections::VecDeque;
use std::sync::{Arc, Mutex};
use std::time::Duration;

use async_trait::async_trait;
use memory::messages::Role;
use runtime::VoiceSettings;
use testkit::discord::DiscordFault;
use testkit::telegram::TelegramFault;
use tokio::sync::Notify;
use voice::{LengthTrust, Listener, Recording, Sound, Speaker, SpeechRequest, VoiceError};

use crate::world::{OWN_WORDS, World};

const WORDS: &str = "my cat is called Mochi";
/// Length of the mock's speech, in seconds per letter.
const SECONDS_PER_LETTER: f64 = 0.05;

/// Synthesises a tone as long as the text, and transcribes each file to the configured text.
#[derive(Default)]
struct Parrot {
    hears: Mutex<VecDeque<Result<String, VoiceError>>>,
    heard_seconds: Mutex<Vec<u64>>,
    held: Mutex<Option<Arc<Notify>>>,
    speaks: Mutex<Option<VoiceError>>,
}

impl Parrot {
    fn hearing(words: impl IntoIterator<Item = Result<String, VoiceError>>) -> Arc<Self> {
        Arc::new(Self { hears: Mutex::new(words.into_iter().collect()), ..Self::default() })
    }

    /// Transcriptions wait until the bell rings.
    fn hold(&self) -> Arc<Notify> {
        let bell = Arc::new(Notify::new());
        *self.held.lock().unwrap() = Some(bell.clone());
        bell
    }

    fn listens(self: &Arc<Self>) -> VoiceSettings {
        VoiceSettings { listener: Some(self.clone()), ..VoiceSettings::default() }
    }

    fn speaks(self: &Arc<Self>) -> VoiceSettings {
        VoiceSettings { speaker: Some(self.clone()), ..VoiceSettings::default() }
    }

    fn heard(&self) -> usize {
        self.heard_seconds.lock().unwrap().len()
    }
}

#[async_trait]
impl Listener for Parrot {
    fn provider(&self) -> &'static str {
        "parrot"
    }

    fn model(&self) -> &str {
        "parrot"
    }

    async fn transcribe(&self, recording: &Recording) -> Result<String, VoiceError> {
        assert!(Sound::read(&recording.wav, LengthTrust::Exact, 60).is_ok(), "what is heard is WAV");
        self.heard_seconds.lock().unwrap().push(recording.seconds);
        let held = self.held.lock().unwrap().clone();
        if let Some(bell) = held {
            bell.notified().await;
        }
        self.hears.lock().unwrap().pop_front().unwrap_or_else(|| Ok(WORDS.to_owned()))
    }

    fn estimated_cost(&self, _: u64) -> Option<f64> {
        Some(0.0)
    }
}

#[async_trait]
impl Speaker for Parrot {
    fn provider(&self) -> &'static str {
        "parrot"
    }

    fn model(&self) -> &str {
        "parrot"
    }

    async fn speak(&self, request: &SpeechRequest) -> Result<Sound, VoiceError> {
        if let Some(error) = self.speaks.lock().unwrap().clone() {
            return Err(error);
        }
        Ok(tone(request.text.chars().count() as f64 * SECONDS_PER_LETTER))
    }

    fn estimated_cost(&self, _: &str) -> Option<f64> {
        Some(0.0)
    }
}

fn tone(seconds: f64) -> Sound {
    let sample = |index: usize| if index % 100 < 50 { 6_000 } else { -6_000 };
    Sound::new((0..(seconds * 22_050.0) as usize).map(sample).collect(), 22_050)
}

fn recording() -> Vec<u8> {
    tone(2.0).to_ogg_opus().unwrap()
}

async fn listening(parrot: &Arc<Parrot>) -> World {
    let mut world = World::new().await;
    world.link("self").await;
    world.link_on_discord(7, "self").await;
    world.give_voice(parrot.listens()).await;
    world
}

async fn said_by(world: &World, role: Role) -> Vec<String> {
    let messages = world.messages("self").await.into_iter();
    messages.filter(|message| message.role == role).map(|message| message.content).collect()
}

async fn until_replies(world: &World, count: usize) {
    world.until("a reply", || async { said_by(world, Role::Persona).await.len() >= count }).await;
    for channel in ["discord", "telegram"] {
        world.until_quiet(channel).await;
    }
}

#[tokio::test]
async fn words_of_a_voice_message_are_the_message_that_is_answered() {
    for channel in ["telegram", "discord"] {
        let parrot = Parrot::hearing([]);
        let world = listening(&parrot).await;
        match channel {
            "telegram" => drop(world.platform.speak(7, &recording(), "look")),
            _ => drop(world.discord.speak(7, &recording())),
        }
        until_replies(&world, 1).await;
        let expected = if channel == "telegram" { format!("{WORDS} look") } else { WORDS.to_owned() };
        assert_eq!(said_by(&world, Role::User).await, [expected]);
        assert_eq!(*parrot.heard_seconds.lock().unwrap(), [2]);
        let prompts = world.listener.prompts();
        assert_eq!(prompts.len(), 1, "answered once, when it was understood");
        assert!(prompts[0].1.contains(WORDS) && !prompts[0].1.contains("voice message"), "{}", prompts[0].1);
        assert_eq!(world.voice_files(), Vec::<String>::new(), "nothing of it is kept");
    }
}

#[tokio::test]
async fn messages_written_during_transcription_are_answered_together() {
    let parrot = Parrot::hearing([]);
    let world = listening(&parrot).await;
    let bell = parrot.hold();
    world.platform.speak(7, &recording(), "");
    world.until("the listener", || async { parrot.heard() == 1 }).await;
    assert_eq!(said_by(&world, Role::User).await, ["[voice message]"], "it is durable before it is heard");
    world.platform.write(7, "and a dog");
    world.until("the second line", || async { said_by(&world, Role::User).await.len() == 2 }).await;
    world.clock.advance(Duration::from_secs(10)).await;
    assert!(world.listener.prompts().is_empty());
    bell.notify_one();
    until_replies(&world, 1).await;
    assert_eq!(said_by(&world, Role::User).await, [WORDS, "and a dog"]);
    assert_eq!(world.listener.prompts().len(), 1);
}

#[tokio::test]
async fn interrupted_transcriptions_resume_at_the_next_start() {
    for channel in ["telegram", "discord"] {
        let parrot = Parrot::hearing([]);
        let mut world = listening(&parrot).await;
        parrot.hold();
        match channel {
            "telegram" => drop(world.platform.speak(7, &recording(), "")),
            _ => drop(world.discord.speak(7, &recording())),
        }
        world.until("the listener", || async { parrot.heard() == 1 }).await;
        // The session is old enough for the recovery of orphaned turns, which also runs at the next start.
        world.clock.advance(Duration::from_secs(150)).await;
        world.stop().await;
        assert_eq!(world.voice_files(), ["note.json"]);
        // After a kill, the temporary file that the local program was reading is still there.
        let left = world.voice_folder().join(runtime::LISTENING_FOLDER);
        std::fs::create_dir_all(&left).unwrap();
        std::fs::write(left.join("listening-1-0.wav"), "words").unwrap();
        let next = Parrot::hearing([]);
        world.voice = next.listens();
        world.start_again().await;
        until_replies(&world, 1).await;
        assert_eq!(said_by(&world, Role::User).await, [WORDS]);
        assert_eq!((next.heard(), world.listener.prompts().len()), (1, 1));
        assert!(!left.exists());
        assert_eq!(world.voice_files(), Vec::<String>::new());
    }
}

#[tokio::test]
async fn passing_failures_are_tried_again_and_others_are_named() {
    let busy = || Err(VoiceError::Passing("busy".to_owned()));
    let parrot = Parrot::hearing([busy(), busy(), Ok(WORDS.to_owned())]);
    let world = listening(&parrot).await;
    for fault in [TelegramFault::Broken, TelegramFault::CutBefore] {
        world.platform.fail("file", fault);
    }
    world.platform.fail("getFile", TelegramFault::TooMany(3));
    // Together with the first failure of the transcription, these three are all attempts that are made.
    world.platform.speak(7, &recording(), "");
    until_replies(&world, 1).await;
    assert_eq!(said_by(&world, Role::User).await, ["[voice message, not transcribed]"]);
    world.platform.speak(7, &recording(), "");
    until_replies(&world, 2).await;
    assert_eq!(said_by(&world, Role::User).await[1], WORDS);

    world.platform.speak(7, b"OggS, but no sound", "");
    until_replies(&world, 3).await;
    parrot.hears.lock().unwrap().push_back(Ok(" ".to_owned()));
    world.platform.speak(7, &recording(), "");
    until_replies(&world, 4).await;
    let said = said_by(&world, Role::User).await;
    assert!(said[2..].iter().all(|text| text == "[voice message, not transcribed]"), "{said:?}");
    assert_eq!(world.voice_files(), Vec::<String>::new());
}

#[tokio::test]
async fn without_a_listener_it_is_named() {
    let mut world = World::new().await;
    world.link("self").await;
    world.give_voice(VoiceSettings::default()).await;
    world.platform.speak(7, &recording(), "");
    until_replies(&world, 1).await;
    assert_eq!(said_by(&world, Role::User).await, ["[voice message]"]);
    assert_eq!(world.platform.call_count("getFile"), 0, "nothing is fetched that nobody hears");
}

#[tokio::test]
async fn its_recording_is_kept_where_a_person_wants_that_and_deleted_with_it() {
    let parrot = Parrot::hearing([]);
    let mut world = listening(&parrot).await;
    world.give_voice(VoiceSettings { keep_recordings: true, ..parrot.listens() }).await;
    let message = world.discord.speak(7, &recording());
    until_replies(&world, 1).await;
    assert_eq!(world.voice_files(), ["recording.wav"]);
    // Telegram reports an edit after it has processed the file. The transcript must stay.
    world.discord.edit(7, &message, "");
    world.discord.write(7, "next");
    until_replies(&world, 2).await;
    assert_eq!(said_by(&world, Role::User).await[0], WORDS);
    world.discord.delete(7, &message);
    world.until("its deletion", || async { world.voice_files().is_empty() }).await;
}

#[tokio::test]
async fn a_voice_message_deleted_during_transcription_stays_deleted() {
    let parrot = Parrot::hearing([]);
    let world = listening(&parrot).await;
    let bell = parrot.hold();
    let message = world.discord.speak(7, &recording());
    world.until("the listener", || async { parrot.heard() == 1 }).await;
    world.discord.delete(7, &message);
    world.until("its deletion", || async { said_by(&world, Role::User).await.is_empty() }).await;
    bell.notify_one();
    world.discord.write(7, "good evening");
    until_replies(&world, 1).await;
    assert_eq!(said_by(&world, Role::User).await, ["good evening"]);
    assert_eq!(world.voice_files(), Vec::<String>::new());
}

#[tokio::test]
async fn a_reply_is_text_first_and_then_a_voice_message() {
    let parrot = Parrot::hearing([]);
    let mut world = listening(&parrot).await;
    world.give_voice(parrot.speaks()).await;
    world.platform.write(7, "hello");
    until_replies(&world, 1).await;
    world.discord.write(7, "hello again");
    until_replies(&world, 2).await;
    let replies = said_by(&world, Role::Persona).await;
    assert_eq!(world.platform.sent().last().map(|(_, text)| text), Some(&replies[0]));
    assert_eq!(world.discord.sent_to(7).last(), Some(&replies[1]));
    let voices = [world.platform.sent_voices(), world.discord.sent_voices()];
    for (sent, reply) in voices.iter().zip(&replies) {
        assert_eq!(sent.len(), 1);
        let sound = Sound::read(&sent[0].1, LengthTrust::Exact, 600).unwrap();
        let expected =
            reply.chars().filter(|letter| !letter.is_whitespace()).count() as f64 * SECONDS_PER_LETTER;
        assert!((sound.seconds() / expected - 1.0).abs() < 0.3, "{} s for {reply}", sound.seconds());
        assert!(sound.quality().silent_share < 0.1);
    }
}

#[tokio::test]
async fn a_voice_that_fails_leaves_the_text() {
    let parrot = Parrot::hearing([]);
    let mut world = listening(&parrot).await;
    world.give_voice(parrot.speaks()).await;
    world.platform.fail("sendVoice", TelegramFault::Blocked);
    world.platform.write(7, "hello");
    until_replies(&world, 1).await;
    // The speech is synthesised beside the text and can enter the outbox after the text has left it.
    let voices = |calls: usize, sent: usize| {
        let world = &world;
        async move {
            (world.platform.call_count("sendVoice"), world.platform.sent_voices().len()) == (calls, sent)
        }
    };
    world.until("a voice that is refused", || voices(1, 0)).await;

    // A temporary failure is retried.
    world.platform.fail("sendVoice", TelegramFault::TooMany(5));
    world.platform.write(7, "hello");
    until_replies(&world, 2).await;
    world.until("a voice that is sent after a pause", || voices(3, 1)).await;

    *parrot.speaks.lock().unwrap() = Some(VoiceError::Passing("out of breath".to_owned()));
    world.platform.write(7, "hello");
    until_replies(&world, 3).await;
    assert_eq!(world.platform.call_count("sendVoice"), 3);
    assert_eq!(world.platform.sent().len(), 1 + 3, "the line about the link, and three replies");
    assert_eq!(world.status().await.undeliverable, 0);
}

#[tokio::test]
async fn a_voice_message_that_may_have_arrived_is_not_sent_twice() {
    let parrot = Parrot::hearing([]);
    let mut world = listening(&parrot).await;
    world.give_voice(parrot.speaks()).await;
    // The second call of the route: the first one sends the text.
    world.discord.write(7, "hello");
    world.until("the text", || async { world.discord.sent_to(7).len() == 2 }).await;
    world.discord.fail("POST messages", DiscordFault::CutAfter);
    until_replies(&world, 1).await;
    world.discord.forget_nonces();
    world.discord.write(7, "hello again");
    until_replies(&world, 2).await;
    assert_eq!(world.discord.sent_voices().len(), 2);
    assert_eq!(world.discord.sent_to(7).len(), 3);
}

#[tokio::test]
async fn proactive_messages_are_spoken_too() {
    let parrot = Parrot::hearing([]);
    let mut world = listening(&parrot).await;
    world.give_voice(parrot.speaks()).await;
    world.platform.write(7, "good morning");
    until_replies(&world, 1).await;
    for _ in 0..71 {
        world.clock.advance(Duration::from_secs(300)).await;
        world.until_state("discord", "ready").await;
    }
    // The clock advances in small steps here, since a voice message is not sent long after its text.
    while said_by(&world, Role::Persona).await.len() < 2 {
        world.clock.advance(Duration::from_secs(5)).await;
        world.until_state("discord", "ready").await;
    }
    let is_said = || async { world.platform.sent().iter().any(|(_, text)| text == OWN_WORDS) };
    world.until("its own words", is_said).await;
    until_replies(&world, 2).await;
    assert_eq!(world.platform.sent_voices().len(), 2);
}
