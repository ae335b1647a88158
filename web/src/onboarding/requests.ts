import { post } from "../api";
import type { RequestBody } from "../api_types";

/** Drafts a persona from material. Nothing is stored. */
export const draftFrom = (material: string, name: string, locale: string) =>
  post("/api/admin/persona/extract-from-input", {
    input_type: "blank_write",
    user_input: material,
    locale,
    persona_display_name: name || undefined,
  });

/** Drafts the texts from the memories of an import. */
export const draftFromImport = (runId: string, name: string) =>
  post("/api/admin/persona/bootstrap-from-material", { pipeline_id: runId, persona_display_name: name || undefined });

export const onboard = (words: RequestBody<"/api/admin/persona/onboarding", "post">) =>
  post("/api/admin/persona/onboarding", words);

/** Creates an empty persona. */
export async function createPersona(name: string): Promise<string> {
  const id = idFor(name);
  await post("/api/admin/personas", { id, display_name: name });
  return id;
}

/** An id for URLs: the name's Latin letters and a random suffix. */
export function idFor(name: string): string {
  const asciiName = name
    .normalize("NFKD")
    .toLowerCase()
    .replace(/[^a-z0-9]+/g, "-")
    .replace(/^-+|-+$/g, "")
    .slice(0, 40);
  const randomSuffix = Array.from(crypto.getRandomValues(new Uint8Array(3)), (byte) => byte.toString(16).padStart(2, "0")).join("");
  return `${asciiName || "persona"}-${randomSuffix}`;
}
