// Which persona the page is with, of those there are.

import type { ResponseBody } from "./api_types";
import { readItem, writeItem } from "./storage";

export type PersonaName = Pick<ResponseBody<"/api/admin/personas">["personas"][number], "id" | "display_name">;

class Personas {
  /** Null: the one the daemon is set up for. */
  selectedId: string | null = $state(readItem("persona"));
  /** Empty while they are not known, and with a daemon that keeps only one. */
  all: PersonaName[] = $state.raw([]);

  select(id: string | null): void {
    this.selectedId = id;
    writeItem("persona", id);
  }
}

export const personas = new Personas();
