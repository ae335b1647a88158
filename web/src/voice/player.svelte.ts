// Plays one reply at a time: a stored one as a whole, one that is being written sentence by sentence.

import { readItem, writeItem } from "../storage";
import { toasts } from "../toasts.svelte";
import type { ServerEvent } from "../wire";
import { getVoice, speakMessage, type VoiceStatus } from "./requests";

class Player {
  /** Null until it was fetched, or if that failed. */
  status: VoiceStatus | null = $state.raw(null);
  /** True to play new replies automatically. */
  autoplay = $state(readItem("voice.autoplay") === "on");
  /** True to show a transcript before it is sent. */
  checkTranscript = $state(readItem("voice.transcript") !== "send");
  /** The id of the message that is played or being prepared. */
  messageId: string | null = $state(null);
  /** The turn whose sentences are played. */
  turnId: string | null = $state(null);
  /** Played share of the message, 0 to 1. */
  progress = $state(0);

  #audio: HTMLAudioElement | null = null;
  #sentences: string[] = [];

  canSpeak = $derived(this.status !== null && this.status.tts_provider !== null);
  canHear = $derived(this.status !== null && this.status.stt_provider !== null);

  async load(): Promise<void> {
    this.status = await getVoice().catch(() => null);
  }

  setAutoplay(on: boolean): void {
    this.autoplay = on;
    writeItem("voice.autoplay", on ? "on" : null);
    if (!on && this.turnId !== null) this.stop();
  }

  setCheckTranscript(check: boolean): void {
    this.checkTranscript = check;
    writeItem("voice.transcript", check ? null : "send");
  }

  isPlaying(message: { id: string | null; turnId: string | null; role: string }): boolean {
    if (message.role !== "persona") return false;
    return (this.messageId !== null && this.messageId === message.id) || (this.turnId !== null && this.turnId === message.turnId);
  }

  async toggle(message: { id: string; turnId: string | null; role: string }): Promise<void> {
    const playing = this.isPlaying(message);
    this.stop();
    if (playing) return;
    this.messageId = message.id;
    try {
      const { url } = await speakMessage(message.id);
      if (this.messageId === message.id) await this.#play(url);
    } catch (error) {
      if (this.messageId !== message.id) return;
      this.stop();
      toasts.showError(error);
    }
  }

  stop(): void {
    this.#audio?.pause();
    this.#audio = null;
    this.#sentences = [];
    this.messageId = null;
    this.turnId = null;
    this.progress = 0;
  }

  apply(event: ServerEvent): void {
    if (event.name === "chat.message.voice_sentence" && this.autoplay && event.data.user_id === "self") {
      if (this.turnId !== event.data.turn_id) {
        // A message that the reader plays is not interrupted.
        if (this.messageId !== null) return;
        this.stop();
        this.turnId = event.data.turn_id;
      }
      this.#sentences.push(event.data.url);
      if (this.#audio === null) void this.#nextSentence();
    }
    if (event.name === "chat.message.deleted" && this.messageId === event.data.message_id) this.stop();
    if (event.name === "memory.forgotten") this.stop();
    if (event.name === "chat.settings.updated") void this.load();
  }

  async #nextSentence(): Promise<void> {
    const url = this.#sentences.shift();
    if (url === undefined) {
      // More sentences may follow while the reply is written.
      this.#audio = null;
      return;
    }
    // A browser that does not allow sound before a click stays silent.
    await this.#play(url).catch(() => this.stop());
  }

  async #play(url: string): Promise<void> {
    const audio = new Audio(url);
    this.#audio = audio;
    audio.ontimeupdate = () => {
      if (this.#audio === audio && audio.duration > 0) this.progress = audio.currentTime / audio.duration;
    };
    audio.onended = () => {
      if (this.#audio !== audio) return;
      if (this.turnId === null) this.stop();
      else void this.#nextSentence();
    };
    await audio.play();
  }
}

export const player = new Player();
