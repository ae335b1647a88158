// Draws the graph on a canvas.

import type { Dot, Graph } from "./graph";

export interface View {
  x: number;
  y: number;
  scale: number;
}

const LABEL_CHARACTERS_MAX = 22;

export function draw(canvas: HTMLCanvasElement, graph: Graph, view: View, hovered: Dot | null): void {
  const context = canvas.getContext("2d");
  if (!context) return;
  const style = getComputedStyle(canvas);
  const color = (name: string) => {
    // A custom property returns `light-dark()` unresolved; a computed colour is resolved.
    canvas.style.color = `var(--${name})`;
    return getComputedStyle(canvas).color;
  };
  const colors = { entity: color("entity"), event: color("event"), thought: color("thought") };
  const [line, ink] = [color("border"), color("text")];
  const ratio = devicePixelRatio;
  context.setTransform(1, 0, 0, 1, 0, 0);
  context.clearRect(0, 0, canvas.width, canvas.height);
  context.setTransform(ratio * view.scale, 0, 0, ratio * view.scale, ratio * view.x, ratio * view.y);

  context.lineWidth = 1 / view.scale;
  context.strokeStyle = line;
  context.beginPath();
  for (const { source, target } of graph.lines) {
    if (typeof source !== "object" || typeof target !== "object") continue;
    context.moveTo(source.x ?? 0, source.y ?? 0);
    context.lineTo(target.x ?? 0, target.y ?? 0);
  }
  context.stroke();

  for (const group of ["thought", "event", "entity"] as const) {
    context.fillStyle = colors[group];
    context.beginPath();
    for (const dot of graph.dots) {
      if (dot.group !== group) continue;
      context.moveTo((dot.x ?? 0) + dot.radius, dot.y ?? 0);
      context.arc(dot.x ?? 0, dot.y ?? 0, dot.radius, 0, Math.PI * 2);
    }
    context.fill();
  }

  context.fillStyle = ink;
  context.textAlign = "center";
  context.font = `${12 / view.scale}px ${style.fontFamily}`;
  for (const dot of graph.dots) {
    if (dot.group !== "entity" && dot !== hovered) continue;
    // At a small scale, only large nodes are labelled.
    if (dot !== hovered && dot.radius * view.scale < 5) continue;
    const label = dot.label.length > LABEL_CHARACTERS_MAX ? `${dot.label.slice(0, LABEL_CHARACTERS_MAX)}…` : dot.label;
    context.fillText(label, dot.x ?? 0, (dot.y ?? 0) + dot.radius + 13 / view.scale);
  }
  if (!hovered) return;
  context.strokeStyle = ink;
  context.lineWidth = 2 / view.scale;
  context.beginPath();
  context.arc(hovered.x ?? 0, hovered.y ?? 0, hovered.radius + 2 / view.scale, 0, Math.PI * 2);
  context.stroke();
}
