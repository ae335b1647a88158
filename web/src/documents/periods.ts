// Titles of the diary's days, weeks, months and years.

import type { Language } from "../i18n";

const DAY_MS = 86_400_000;

/** The Monday of an ISO week. */
export function mondayOf(year: number, week: number): Date {
  // The fourth of January is always in the first week.
  const januaryFourth = new Date(Date.UTC(year, 0, 4));
  const weekday = (januaryFourth.getUTCDay() + 6) % 7;
  return new Date(januaryFourth.getTime() + ((week - 1) * 7 - weekday) * DAY_MS);
}

/** The title of `2026-W47.md`, `2026-11.md` or `2026-11-22_home.md`; null for other names. */
export function periodLabel(filename: string, language: Language, locale: string): string | null {
  const stem = filename.replace(/\.md$/, "");
  const format = (options: Intl.DateTimeFormatOptions) => new Intl.DateTimeFormat(locale, { timeZone: "UTC", ...options });
  const week = /^(\d{4})-W(\d{2})$/.exec(stem);
  if (week) {
    const [year, number] = [Number(week[1]), Number(week[2])];
    const monday = mondayOf(year, number);
    const sunday = new Date(monday.getTime() + 6 * DAY_MS);
    const days = format({ day: "numeric", month: language === "zh" ? "long" : "short" });
    // `formatRange` would print a Chinese range in digits only.
    return language === "zh"
      ? `${year}年第${number}周（${days.format(monday)}至${days.format(sunday)}）`
      : `Week ${number} of ${year} (${days.formatRange(monday, sunday)})`;
  }
  const date = /^(\d{4})(?:-(\d{2}))?(?:-(\d{2}))?(?=_|$)/.exec(stem);
  if (!date) return null;
  const [, year, month, day] = date;
  const firstDay = new Date(Date.UTC(Number(year), Number(month ?? 1) - 1, Number(day ?? 1)));
  if (day) return format({ weekday: "long", day: "numeric", month: "long", year: "numeric" }).format(firstDay);
  if (month) return format({ month: "long", year: "numeric" }).format(firstDay);
  return format({ year: "numeric" }).format(firstDay);
}

/** A file name without its date: the slug of a significant moment. */
export function slugOf(filename: string): string {
  return filename.replace(/\.md$/, "").replace(/^\d{4}-\d{2}-\d{2}_/, "");
}
