// The shared self on the wire.

import type { ResponseBody } from "../api_types";

/** A document without its text; its kind is `self`, `user`, … for what is known, `daily`, `weekly`, … for what was lived. */
export type HubDocument = ResponseBody<"/api/hub/documents">["documents"][number];
export type DocumentText = ResponseBody<"/api/hub/documents/{kind}/{filename}">;
export type DocumentVersion = ResponseBody<"/api/hub/documents/{kind}/{filename}/versions">["versions"][number];
export type PendingPeriod = ResponseBody<"/api/hub/rollups">["periods"][number];

/** What a document is called on the way. */
export type DocumentName = Pick<HubDocument, "kind" | "filename">;

export const IDENTITY_KINDS = ["self", "user", "relationship", "custom"] as const;
export type IdentityKind = (typeof IDENTITY_KINDS)[number];
