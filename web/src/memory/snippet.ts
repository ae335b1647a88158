// Snippets of the search: HTML whose only tags are `<b>`.

export interface SnippetPart {
  text: string;
  marked: boolean;
}

const ENTITIES: Record<string, string> = { amp: "&", lt: "<", gt: ">", quot: '"', "#39": "'", "#x27": "'" };

/** The parts of a snippet as plain text. Unknown entities stay as they are. */
export function snippetParts(html: string): SnippetPart[] {
  let marked = false;
  const parts: SnippetPart[] = [];
  for (const piece of html.split(/(<\/?b>)/)) {
    if (piece === "<b>" || piece === "</b>") marked = piece === "<b>";
    else if (piece) parts.push({ text: piece.replace(/&(#?\w+);/g, (all, name: string) => ENTITIES[name] ?? all), marked });
  }
  return parts;
}
