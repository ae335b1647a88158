// Light, dark, or as the system has it.

import { keep, recalled } from "./kept";

export const THEMES = ["system", "light", "dark"] as const;
export type Theme = (typeof THEMES)[number];

class ChosenTheme {
  current: Theme = $state(remembered());

  choose(theme: Theme): void {
    this.current = theme;
    keep("theme", theme === "system" ? null : theme);
  }
}

function remembered(): Theme {
  const value = recalled("theme");
  return value === "light" || value === "dark" ? value : "system";
}

export const theme = new ChosenTheme();
