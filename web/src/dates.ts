// Dates and times in the reader's locale and zone.

/** `YYYY-MM-DD` in the reader's zone. */
export function localDay(at: string, timeZone?: string): string {
  return dayFormat(timeZone).format(new Date(at));
}

export function dayLabel(
  day: string,
  today: string,
  locale: string,
  words: { today: string; yesterday: string },
): string {
  const date = new Date(`${day}T12:00:00Z`);
  const daysAgo = Math.round((Date.parse(`${today}T12:00:00Z`) - date.getTime()) / 86_400_000);
  if (daysAgo === 0) return words.today;
  if (daysAgo === 1) return words.yesterday;
  const sameYear = day.slice(0, 4) === today.slice(0, 4);
  return formatter(locale, {
    timeZone: "UTC",
    weekday: daysAgo > 0 && daysAgo < 7 ? "long" : undefined,
    month: "long",
    day: "numeric",
    year: sameYear ? undefined : "numeric",
  }).format(date);
}

export function timeLabel(at: string, locale: string): string {
  return formatter(locale, { timeStyle: "short" }).format(new Date(at));
}

export function dateLabel(at: string, locale: string): string {
  return formatter(locale, { dateStyle: "medium" }).format(new Date(at));
}

export function dateTimeLabel(at: string, locale: string): string {
  return formatter(locale, { dateStyle: "medium", timeStyle: "short" }).format(new Date(at));
}

function dayFormat(timeZone?: string): Intl.DateTimeFormat {
  // Canadian English formats a date as YYYY-MM-DD.
  return formatter("en-CA", { timeZone, year: "numeric", month: "2-digit", day: "2-digit" });
}

// Creating a formatter is far slower than using one, and every token redraws.
const formatters = new Map<string, Intl.DateTimeFormat>();

function formatter(locale: string, options: Intl.DateTimeFormatOptions): Intl.DateTimeFormat {
  const name = locale + JSON.stringify(options);
  const dateFormat = formatters.get(name) ?? new Intl.DateTimeFormat(locale, options);
  formatters.set(name, dateFormat);
  return dateFormat;
}
