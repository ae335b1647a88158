import { get, post } from "../api";

export interface Draft {
  core_blocks: { persona_block: string; user_block: string };
  facts?: Record<string, string | null>;
  facts_confidence?: number;
}

/** A persona out of material that a person gave: a draft, nothing is kept. */
export const draftFrom = (material: string, name: string, locale: string) =>
  post<Draft>("/api/admin/persona/extract-from-input", {
    input_type: "blank_write",
    user_input: material,
    locale,
    persona_display_name: name || undefined,
  });

export interface FirstWords {
  display_name: string;
  persona_block: string;
  user_block: string;
  facts?: Record<string, string | null>;
}

export const onboard = (words: FirstWords) => post<{ persona_id: string }>("/api/admin/persona/onboarding", words);

/** Another persona beside those there are; the answer holds its id. */
export async function createPersona(name: string): Promise<string | null> {
  const answer = await post<{ id?: string; persona_id?: string; persona?: { id?: string } }>("/api/admin/personas", {
    display_name: name,
  });
  return answer.persona_id ?? answer.id ?? answer.persona?.id ?? null;
}

export const checkModel = () =>
  get<{ llm?: { provider: string; model: string | null; offline: boolean; notice: string | null } }>("/api/state");
