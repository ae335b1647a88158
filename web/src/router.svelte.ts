// The screen and tab, kept in the page's address for bookmarks and the back button.

export const SCREENS = ["chat", "memory", "insights", "settings", "onboarding"] as const;
export type Screen = (typeof SCREENS)[number];

class Router {
  screen: Screen = $state("chat");
  /** Empty for the screen's first tab. */
  tab = $state("");
  /** True if the address is not that of a screen. */
  isUnknown = $state(false);

  constructor() {
    this.#read();
    addEventListener("popstate", () => this.#read());
  }

  go(screen: Screen, tab = ""): void {
    const path = pathTo(screen, tab);
    if (path !== location.pathname) history.pushState(null, "", path);
    this.#read();
  }

  #read(): void {
    const [, first = "", second = ""] = location.pathname.split("/");
    const screen = SCREENS.find((screen) => screen === first);
    this.isUnknown = screen === undefined && first !== "";
    this.screen = screen ?? "chat";
    this.tab = decodeURIComponent(second);
  }
}

export function pathTo(screen: Screen, tab = ""): string {
  if (screen === "chat") return "/";
  return tab ? `/${screen}/${encodeURIComponent(tab)}` : `/${screen}`;
}

/** Navigates within the page, unless the reader opens a new browser tab. */
export function followLink(event: MouseEvent, screen: Screen, tab = ""): void {
  if (event.metaKey || event.ctrlKey || event.shiftKey || event.button !== 0) return;
  event.preventDefault();
  router.go(screen, tab);
}

export const router = new Router();
