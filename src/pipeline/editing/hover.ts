import { timeLimit } from "../../contract/limits.ts";
import { parseDuration } from "../file/duration.ts";
import { describeField } from "../file/fieldTexts.ts";
import type { Span } from "../mistakes/problem.ts";
import { resourceTypeNames, resourceTypes } from "../types/resourceTypes.ts";
import { type Outline, resourceAt } from "./outline.ts";
import { shapeAt } from "./shape.ts";
import { type Crumb, type Spot, spotAt, startOfLine } from "./tree.ts";

/** What is shown for the word under the pointer. */
export interface Hover {
  readonly span: Span;
  /** Markdown. */
  readonly meaning: string;
  /** A piece of the file, shown as code. */
  readonly code?: string;
}

const longestCode = 1_000;

/** @returns undefined where there is nothing to show. */
export function hoverAt(text: string, outline: Outline, offset: number): Hover | undefined {
  const reference = referenceAt(text, offset);
  if (reference !== undefined) return reference;
  const resource = resourceHover(text, outline, offset);
  if (resource !== undefined) return resource;
  const spot = spotAt(outline.tree, offset);
  if (spot === undefined) return undefined;
  return spot.isName ? fieldHover(spot, outline) : valueHover(spot);
}

function fieldHover({ crumbs, text: { start, end } }: Spot, outline: Outline): Hover | undefined {
  const meaning = fieldText(crumbs, outline);
  return meaning === undefined ? undefined : { span: { start, end }, meaning };
}

function valueHover({ crumbs, text: { text, start, end } }: Spot): Hover | undefined {
  const last = crumbs.at(-1);
  const name = last?.kind === "entry" ? last.entry.name.text : undefined;
  const span = { start, end };
  const isTimeLimit = name === "time-limit" && crumbs.length === 1;
  if (isTimeLimit || name === "timeout" || name === "time") {
    const inWords = durationInWords(text);
    if (inWords === undefined) return undefined;
    const most = timeLimit.atMost / 3600;
    return {
      span,
      meaning: isTimeLimit
        ? `A run is stopped after ${inWords}. At most ${most} hour is allowed.`
        : `${inWords}.`,
    };
  }
  const type = resourceTypeNames.find((known) => known === text);
  if (name === "type" && type !== undefined && crumbs.length === 3) {
    return { span, meaning: resourceTypes[type].meaning };
  }
  return undefined;
}

function fieldText(crumbs: readonly Crumb[], outline: Outline): string | undefined {
  const last = crumbs.at(-1);
  if (last?.kind !== "entry") return undefined;
  const field = shapeAt(crumbs.slice(0, -1), outline).fields.get(last.entry.name.text);
  return field?.text === undefined ? undefined : describeField(field.text);
}

/** For a resource's definition, how often it is used; for a use, its definition. */
function resourceHover(text: string, outline: Outline, offset: number): Hover | undefined {
  const named = resourceAt(outline, offset);
  if (named === undefined) return undefined;
  const { start, end } = named.asked;
  const resource = outline.resources.find(({ name }) => name.text === named.name);
  if (resource === undefined) return undefined;
  const type = resource.type === undefined ? "" : ` ${resourceTypes[resource.type].meaning}`;
  const what = resource.type === undefined ? "without a type" : `of type \`${resource.type}\``;
  const meaning = `A resource ${what}.${type}`;
  if (!named.definitions.includes(named.asked))
    return { span: { start, end }, meaning, code: unindented(text, resource.span) };
  const count = named.uses.length;
  const uses =
    count === 0 ? "No step uses it." : count === 1 ? "One step uses it." : `${count} steps use it.`;
  return { span: { start, end }, meaning: `${meaning} ${uses}` };
}

/** A piece of the text without its indentation. */
function unindented(text: string, { start, end }: Span): string {
  const column = start - startOfLine(text, start);
  const piece = text.slice(start, Math.min(end, start + longestCode));
  const indentation = new RegExp(`^ {1,${Math.max(1, column)}}`);
  const lines = piece
    .split(/\r?\n/)
    .map((line, index) => (index === 0 || column === 0 ? line : line.replace(indentation, "")));
  return lines.join("\n") + (end - start > longestCode ? "\n…" : "");
}

function referenceAt(text: string, offset: number): Hover | undefined {
  const lineStart = startOfLine(text, offset);
  const line = text.slice(lineStart).split("\n", 1)[0] ?? "";
  for (const found of line.matchAll(/\$\{\{\s*env\.([A-Za-z_][A-Za-z0-9_]*)\s*\}\}/g)) {
    const start = lineStart + found.index;
    const end = start + found[0].length;
    if (offset < start || offset > end) continue;
    const meaning = `The variable \`${found[1]}\` of the file's \`env-file\`, or of the environment in which the run is started; filled in when the step runs. Its value shows as \`***\` in everything that the run tells.`;
    return { span: { start, end }, meaning };
  }
  return undefined;
}

/** `90s` as “1 minute 30 seconds”; undefined for an invalid duration. */
export function durationInWords(written: string): string | undefined {
  const number = Number(written);
  const milliseconds = parseDuration(written.trim() !== "" && Number.isFinite(number) ? number : written);
  if (milliseconds === undefined) return undefined;
  const parts = [
    { unit: "hour", count: Math.floor(milliseconds / 3_600_000) },
    { unit: "minute", count: Math.floor(milliseconds / 60_000) % 60 },
    { unit: "second", count: Math.floor(milliseconds / 1000) % 60 },
    { unit: "millisecond", count: Math.round(milliseconds % 1000) },
  ].filter(({ count }) => count > 0);
  if (parts.length === 0) return "no time";
  return parts.map(({ unit, count }) => `${count} ${unit}${count === 1 ? "" : "s"}`).join(" ");
}
