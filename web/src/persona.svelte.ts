// The selected persona, and the list of personas.

import type { ResponseBody } from "./api_types";
import { readItem, writeItem } from "./storage";

export type PersonaName = Pick<ResponseBody<"/api/admin/personas">["personas"][number], "id" | "display_name">;

class Personas {
  /** Null for the default persona. */
  selectedId: string | null = $state(readItem("persona"));
  /** Empty until it is loaded. */
  all: PersonaName[] = $state.raw([]);

  select(id: string | null): void {
    this.selectedId = id;
    writeItem("persona", id);
  }
}

export const personas = new Personas();
