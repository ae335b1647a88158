import { get } from "../api";
import type { Answer } from "../contract";

export type TurnHead = Answer<"/api/admin/turns">["items"][number];
export type TurnTrace = Answer<"/api/admin/turns/{id}">;
export type Step = NonNullable<TurnTrace["steps"]>[number];
export type SessionTrace = Answer<"/api/admin/sessions/{id}/consolidate-trace">;
export type CycleHead = Answer<"/api/admin/slow-tick/transcripts">["items"][number];

const LISTED = 50;

export const getTurns = () => get("/api/admin/turns", { limit: LISTED });
export const getTurn = (id: string) => get("/api/admin/turns/{id}", { id });
export const getSessionTrace = (id: string) => get("/api/admin/sessions/{id}/consolidate-trace", { id });
export const getCycles = () => get("/api/admin/slow-tick/transcripts", { limit: LISTED });
export const getTranscript = (id: string) => get("/api/admin/slow-tick/transcripts/{id}", { id });
