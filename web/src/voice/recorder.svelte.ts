// Records the microphone and shows its level.

import { levelOf } from "./wav";

/** Maximum length of a recording, after which it ends by itself. */
const RECORDING_MS_MAX = 9 * 60_000;
const LEVEL_MS = 80;

export class Recorder {
  recording = $state(false);
  /** Loudness, 0 to 1. */
  level = $state(0);
  seconds = $state(0);

  #media: MediaRecorder | null = null;
  #close: (() => void) | null = null;
  #pieces: Blob[] = [];

  /** @throws when the browser has no microphone, or the reader does not allow it. */
  async start(onLimit: () => void): Promise<void> {
    const stream = await navigator.mediaDevices.getUserMedia({ audio: true });
    const context = new AudioContext();
    const analyser = context.createAnalyser();
    context.createMediaStreamSource(stream).connect(analyser);
    const frame = new Float32Array(analyser.fftSize);
    const began = Date.now();
    const timer = setInterval(() => {
      analyser.getFloatTimeDomainData(frame);
      this.level = levelOf(frame);
      this.seconds = Math.floor((Date.now() - began) / 1_000);
      if (Date.now() - began > RECORDING_MS_MAX) onLimit();
    }, LEVEL_MS);
    this.#close = () => {
      clearInterval(timer);
      stream.getTracks().forEach((track) => track.stop());
      void context.close();
      this.recording = false;
      this.level = this.seconds = 0;
    };
    this.#pieces = [];
    this.#media = new MediaRecorder(stream);
    this.#media.ondataavailable = ({ data }) => this.#pieces.push(data);
    this.#media.start();
    this.recording = true;
  }

  /** Ends the recording; null when there is none. */
  async finish(): Promise<Blob | null> {
    const media = this.#media;
    if (media === null) return null;
    this.#media = null;
    await new Promise((done) => {
      media.onstop = done;
      media.stop();
    });
    this.#close?.();
    return new Blob(this.#pieces, { type: media.mimeType });
  }

  cancel(): void {
    this.#media?.stop();
    this.#media = null;
    this.#pieces = [];
    this.#close?.();
  }
}
