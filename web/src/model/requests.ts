import { EventSourceParserStream } from "eventsource-parser/stream";
import { fetchOk, get, NetworkError, post, put } from "../api";
import type { RequestBody, ResponseBody } from "../api_types";
import { credentials } from "../credentials";

export type ModelChoice = RequestBody<"/api/admin/model", "put">;
export type ModelConfiguration = ResponseBody<"/api/admin/model">;
export type LocalServer = ResponseBody<"/api/admin/model/local">["servers"][number];

export const getModel = () => get("/api/admin/model");
export const findLocalServers = () => get("/api/admin/model/local").then(({ servers }) => servers);
export const listModels = (choice: ModelChoice) => post("/api/admin/model/list", choice).then(({ models }) => models);
export const chooseModel = (choice: ModelChoice) => put("/api/admin/model", choice);
export const checkModel = () => post("/api/admin/model/check", undefined);

export type TryEvent =
  | { event: "piece"; text: string }
  | { event: "done"; model: string; first_words_ms: number; whole_ms: number; tokens_per_second: number | null }
  | { event: "failed"; detail: string; code: string };

/** Asks a model for a sentence, and passes on each piece. */
export async function tryModel(
  choice: ModelChoice,
  language: string,
  signal: AbortSignal,
  onevent: (event: TryEvent) => void,
): Promise<void> {
  const { body } = await fetchOk("/api/admin/model/try", {
    method: "POST",
    headers: { ...credentials(), "Content-Type": "application/json", Accept: "text/event-stream" },
    body: JSON.stringify({ ...choice, language }),
    signal,
  });
  if (!body) throw new NetworkError();
  const events = body.pipeThrough(new TextDecoderStream()).pipeThrough(new EventSourceParserStream()).getReader();
  for (let next = await events.read(); !next.done; next = await events.read()) {
    onevent(JSON.parse(next.value.data) as TryEvent);
  }
}
