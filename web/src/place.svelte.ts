// Where in the page the reader is: the address says it, so that it can be kept, shared and gone back from.

export const SCREENS = ["chat", "memory", "pictures", "settings", "welcome"] as const;
export type Screen = (typeof SCREENS)[number];

class Place {
  screen: Screen = $state("chat");
  /** What of the screen: a tab. Empty for the first one. */
  part = $state("");

  constructor() {
    this.#read();
    addEventListener("popstate", () => this.#read());
  }

  go(screen: Screen, part = ""): void {
    const path = address(screen, part);
    if (path !== location.pathname) history.pushState(null, "", path);
    this.#read();
  }

  #read(): void {
    const [, first = "", second = ""] = location.pathname.split("/");
    this.screen = SCREENS.find((screen) => screen === first) ?? "chat";
    this.part = decodeURIComponent(second);
  }
}

export function address(screen: Screen, part = ""): string {
  if (screen === "chat") return "/";
  return part ? `/${screen}/${encodeURIComponent(part)}` : `/${screen}`;
}

/** A link that the page follows itself, unless the reader wants another tab. */
export function followed(event: MouseEvent, screen: Screen, part = ""): void {
  if (event.metaKey || event.ctrlKey || event.shiftKey || event.button !== 0) return;
  event.preventDefault();
  place.go(screen, part);
}

export const place = new Place();
