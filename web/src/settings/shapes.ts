import type { Answer, Schema } from "../contract";

export type ConfigAnswer = Answer<"/api/admin/config">;
export type Setting = ConfigAnswer["settings"][string];
export type Token = Answer<"/api/admin/tokens">["tokens"][number];
export type SessionRow = Schema<"Session">;
export type Status = Answer<"/api/admin/status">;
export type CostSummary = Answer<"/api/admin/cost/summary">;
export type CostRange = Schema<"CostRange">;
