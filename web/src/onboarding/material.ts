// Files from which a persona is made. The server reads them like an import.

import { get, persona, post } from "../api";
import type { ResponseBody } from "../api_types";
import { sendFiles, undoImport } from "../imports/requests";

export type CharacterDraft = ResponseBody<"/api/admin/imports/{id}/character">;

export type Material =
  | { kind: "character"; importId: string; draft: CharacterDraft }
  | { kind: "conversations"; messages: number }
  | { kind: "text"; text: string }
  /** `reason` is empty if nothing was found at all. */
  | { kind: "none"; reason: string };

/** Examines files. An upload with conversations stays in the importer; any other without a character is deleted. */
export async function readMaterial(files: File[]): Promise<Material> {
  const { run_id: importId, look } = await sendFiles(files);
  if (look && (look.cards + look.core_drafts > 0 || (look.lorebooks > 0 && look.messages === 0))) {
    return { kind: "character", importId, draft: await get("/api/admin/imports/{id}/character", { id: importId }) };
  }
  if (look && look.messages > 0) return { kind: "conversations", messages: look.messages };
  await undoImport(importId);
  if (look && look.documents > 0) return { kind: "text", text: (await Promise.all(files.map((file) => file.text()))).join("\n\n") };
  return { kind: "none", reason: look?.skipped[0]?.reason ?? "" };
}

/**
 * Saves the other parts of a character: the picture, documents, and the greeting with this number as the first
 * message.
 */
export const saveCharacter = (importId: string, greeting: number | null) =>
  post("/api/admin/imports/{id}/character", { greeting, ...persona() }, { id: importId });
