// Converts sound that the browser can decode to a WAV file: one channel, 16 bits.

const HEADER_BYTES = 44;
/** Samples per second of speech for transcription. */
export const SPEECH_RATE = 16_000;

/** A WAV file of samples between -1 and 1. */
export function wavOf(samples: Float32Array, rate: number): Blob {
  const view = new DataView(new ArrayBuffer(HEADER_BYTES + samples.length * 2));
  const writeText = (at: number, text: string) => [...text].forEach((sign, index) => view.setUint8(at + index, sign.charCodeAt(0)));
  writeText(0, "RIFF");
  view.setUint32(4, HEADER_BYTES - 8 + samples.length * 2, true);
  writeText(8, "WAVEfmt ");
  view.setUint32(16, 16, true);
  view.setUint16(20, 1, true);
  view.setUint16(22, 1, true);
  view.setUint32(24, rate, true);
  view.setUint32(28, rate * 2, true);
  view.setUint16(32, 2, true);
  view.setUint16(34, 16, true);
  writeText(36, "data");
  view.setUint32(40, samples.length * 2, true);
  samples.forEach((sample, index) => {
    const level = Math.max(-1, Math.min(1, sample));
    view.setInt16(HEADER_BYTES + index * 2, Math.round(level * 32_767), true);
  });
  return new Blob([view.buffer], { type: "audio/wav" });
}

/** Loudness of a frame, 0 to 1, as a meter shows it: silence of -60 dB is 0. */
export function levelOf(frame: Float32Array): number {
  const mean = frame.reduce((sum, sample) => sum + sample * sample, 0) / Math.max(1, frame.length);
  return Math.max(0, Math.min(1, 1 + Math.log10(Math.max(mean, 1e-9)) / 6));
}

/** Null for a file without sound. `rate`: samples per second of the result. */
export async function toWav(file: Blob, rate: number): Promise<Blob | null> {
  const decoder = new OfflineAudioContext(1, 1, rate);
  // Decoding resamples to the rate of its context.
  const sound = await decoder.decodeAudioData(await file.arrayBuffer()).catch(() => null);
  if (sound === null) return null;
  const channels = Array.from({ length: sound.numberOfChannels }, (_, index) => sound.getChannelData(index));
  const monoSound = Float32Array.from({ length: sound.length }, (_, index) =>
    channels.reduce((sum, channel) => sum + (channel[index] ?? 0), 0) / channels.length,
  );
  return wavOf(monoSound, rate);
}
