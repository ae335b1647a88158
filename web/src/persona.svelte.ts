// Which persona the page is with, of those there are.

import type { Schema } from "./contract";
import { keep, recalled } from "./kept";

export type PersonaName = Pick<Schema<"PersonaHead">, "id" | "display_name">;

class ChosenPersona {
  /** Null: the one the daemon is set up for. */
  personaId: string | null = $state(recalled("persona"));
  /** Empty while they are not known, and with a daemon that keeps only one. */
  all: PersonaName[] = $state.raw([]);

  choose(id: string | null): void {
    this.personaId = id;
    keep("persona", id);
  }
}

export const chosen = new ChosenPersona();
