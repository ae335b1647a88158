import type { Params, ResponseBody } from "../api_types";

export type ConfigResponse = ResponseBody<"/api/admin/config">;
export type Setting = ConfigResponse["settings"][string];
export type Token = ResponseBody<"/api/admin/tokens">["tokens"][number];
export type Login = ResponseBody<"/api/admin/logins">["logins"][number];
export type SessionRow = ResponseBody<"/api/admin/sessions">["sessions"][number];
export type Channel = ResponseBody<"/api/admin/channels">[number];
export type Decision = ResponseBody<"/api/admin/proactive">["decisions"][number];
export type DaemonStatus = ResponseBody<"/api/admin/daemons">["daemons"][number];
export type Status = ResponseBody<"/api/admin/status">;
export type HubSyncState = ResponseBody<"/api/sync">;
export type CostSummary = ResponseBody<"/api/admin/cost/summary">;
export type CostRange = NonNullable<Params<"/api/admin/cost/summary", "get">["range"]>;
