// Light, dark, or the system's theme.

import { readItem, writeItem } from "./storage";

export const THEMES = ["system", "light", "dark"] as const;
export type Theme = (typeof THEMES)[number];

class ThemeChoice {
  current: Theme = $state(storedTheme());

  choose(theme: Theme): void {
    this.current = theme;
    writeItem("theme", theme === "system" ? null : theme);
  }
}

function storedTheme(): Theme {
  const value = readItem("theme");
  return value === "light" || value === "dark" ? value : "system";
}

export const theme = new ThemeChoice();
