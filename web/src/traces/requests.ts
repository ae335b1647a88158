import { get } from "../api";
import type { ResponseBody } from "../api_types";

export type TurnHead = ResponseBody<"/api/admin/turns">["items"][number];
export type TurnTrace = ResponseBody<"/api/admin/turns/{id}">;
export type Step = NonNullable<TurnTrace["steps"]>[number];
export type SessionTrace = ResponseBody<"/api/admin/sessions/{id}/consolidate-trace">;
export type CycleHead = ResponseBody<"/api/admin/slow-tick/transcripts">["items"][number];

const LISTED = 50;

export const getTurns = () => get("/api/admin/turns", { limit: LISTED });
export const getTurn = (id: string) => get("/api/admin/turns/{id}", { id });
export const getSessionTrace = (id: string) => get("/api/admin/sessions/{id}/consolidate-trace", { id });
export const getCycles = () => get("/api/admin/slow-tick/transcripts", { limit: LISTED });
export const getTranscript = (id: string) => get("/api/admin/slow-tick/transcripts/{id}", { id });
