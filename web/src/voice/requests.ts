import { fetchOk, get, patch, post, remove, upload } from "../api";
import type { RequestBody, ResponseBody } from "../api_types";

export type VoiceStatus = ResponseBody<"/api/admin/voice">;
export type VoiceSample = ResponseBody<"/api/admin/voice/samples">["samples"][number];
export type Transcript = ResponseBody<"/api/chat/transcribe", "post">;

export const getVoice = () => get("/api/admin/voice");
export const useProgram = (program: string) => post("/api/admin/voice/use", { program });
export const toggleVoice = (enabled: boolean) => post("/api/admin/persona/voice-toggle", { enabled });
export const speakMessage = (id: string) => post("/api/chat/voice/{file}", undefined, { file: id });
export const transcribe = (wav: Blob) => upload("/api/chat/transcribe", [{ file: wav, name: "recording.wav" }]);

const SAMPLES = "/api/admin/voice/samples";
export const getSamples = () => get(SAMPLES);
export const addSample = (wav: Blob, name: string) => upload(SAMPLES, [{ file: wav, name }]);
export const removeSample = (id: string) => remove("/api/admin/voice/samples/{sample_id}", { sample_id: id });
export const cloneVoice = (name: string) => post("/api/admin/voice/clone", { display_name: name });
export const activateVoice = (id: string) => post("/api/admin/voice/activate", { voice_id: id });

export const changeVoice = (fields: Record<string, unknown>) =>
  patch("/api/admin/config", { voice: fields } as RequestBody<"/api/admin/config", "patch">);

/** The sound of a text in this voice. */
export async function previewVoice(voiceId: string, text: string): Promise<ArrayBuffer> {
  const body = JSON.stringify({ voice_id: voiceId, text });
  const response = await fetchOk("/api/admin/voice/preview", { method: "POST", body });
  return response.arrayBuffer();
}
