// The shared self on the wire.

import type { Schema } from "../api_types";

/** A document without its text; its kind is `self`, `user`, … for what is known, `daily`, `weekly`, … for what was lived. */
export type HubDocument = Schema<"DocumentEntry">;
export type DocumentText = Schema<"DocumentText">;
export type DocumentVersion = Schema<"VersionEntry">;
export type PendingPeriod = Schema<"UntoldPeriod">;

/** What a document is called on the way. */
export type DocumentName = Pick<HubDocument, "kind" | "filename">;

export const IDENTITY_KINDS = ["self", "user", "relationship", "custom"] as const;
export type IdentityKind = (typeof IDENTITY_KINDS)[number];
