// The graph: names linked to the memories that mention them, thoughts to the events they cite.

import { forceCollide, forceLink, forceManyBody, forceSimulation, forceX, forceY } from "d3-force";
import type { Simulation, SimulationLinkDatum, SimulationNodeDatum } from "d3-force";
import type { Entity, MemoryNode } from "../memory/types";
import type { MemorySet } from "./load_memories";

export interface Dot extends SimulationNodeDatum {
  id: string;
  group: "entity" | "event" | "thought";
  label: string;
  /** In pixels at full size. */
  radius: number;
  entity: Entity | null;
  node: MemoryNode | null;
}

export type Line = SimulationLinkDatum<Dot>;

export interface Graph {
  dots: Dot[];
  lines: Line[];
}

/** About 170 steps until the layout settles. */
const ALPHA_DECAY = 0.04;

export function graphOf({ nodes, entities }: MemorySet): Graph {
  const dots = [...entities.map(entityDot), ...nodes.map(nodeDot)];
  const ids = new Set(dots.map((dot) => dot.id));
  const lines: Line[] = [];
  const names = entities.map((entity) => ({ id: `entity:${entity.id}`, isNamedIn: nameMatcher(entity) }));
  for (const node of nodes) {
    for (const event of node.filling_event_ids) {
      if (ids.has(`node:${event}`)) lines.push({ source: `node:${node.id}`, target: `node:${event}` });
    }
    if (node.node_type === "thought") continue;
    const text = node.description.toLocaleLowerCase();
    for (const { id, isNamedIn } of names) {
      if (isNamedIn(text)) lines.push({ source: id, target: `node:${node.id}` });
    }
  }
  return { dots, lines };
}

/**
 * Matches a lower-case text that mentions an entity, by the server's rule: the text contains its name or an alias; a
 * Latin name must be a whole word.
 */
export function nameMatcher({ canonical_name, aliases }: Pick<Entity, "canonical_name" | "aliases">): (text: string) => boolean {
  const names = [...new Set([canonical_name, ...aliases].map((name) => name.trim().toLocaleLowerCase()))].filter(Boolean);
  const matchers = names.map((name) => {
    if (!/^[\p{Script=Latin}\d\s.'’-]+$/u.test(name)) return (text: string) => text.includes(name);
    const marked = name.replace(/[.*+?^${}()|[\]\\]/g, "\\$&");
    const word = new RegExp(`(?<![\\p{L}\\d])${marked}(?![\\p{L}\\d])`, "u");
    return (text: string) => text.includes(name) && word.test(text);
  });
  return (text) => matchers.some((test) => test(text));
}

/** The layout simulation. The caller runs its steps. */
export function layout({ dots, lines }: Graph): Simulation<Dot, Line> {
  return forceSimulation(dots)
    .force("links", forceLink<Dot, Line>(lines).id((dot) => dot.id).distance(46).strength(0.5))
    .force("apart", forceManyBody<Dot>().strength(-55).theta(1.5).distanceMax(300))
    .force("room", forceCollide<Dot>((dot) => dot.radius + 2))
    .force("x", forceX<Dot>().strength(0.05))
    .force("y", forceY<Dot>().strength(0.06))
    .alphaDecay(ALPHA_DECAY)
    .stop();
}

function entityDot(entity: Entity): Dot {
  const radius = 6 + Math.min(10, Math.sqrt(entity.linked_events_count ?? 0) * 2);
  return { id: `entity:${entity.id}`, group: "entity", label: entity.canonical_name, radius, entity, node: null };
}

function nodeDot(node: MemoryNode): Dot {
  const group = node.node_type === "thought" || node.node_type === "expectation" ? "thought" : "event";
  const radius = 3 + Math.abs(node.emotional_impact) * 0.5;
  return { id: `node:${node.id}`, group, label: node.description, radius, entity: null, node };
}
