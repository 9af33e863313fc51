import type { Random } from "./random.ts";

const values = [
  ...[
    "null",
    "true",
    "false",
    "0",
    "-1",
    "1",
    "-0",
    "1.5",
    "1e400",
    "-1e400",
    "9007199254740993",
    "1e21",
    "4294967296",
  ],
  ...[
    '""',
    '"0"',
    '"1e9"',
    '"\\u0000"',
    '"\\u001b[31m"',
    '"\\ud800"',
    '"\\u202e"',
    '"__proto__"',
    '"too-many-runs"',
  ],
  ...[
    "[]",
    "{}",
    "[[]]",
    '{"__proto__":{"a":1}}',
    '{"toString":1}',
    '"2026-02-30T00:00:00Z"',
    '"2026-01-01T24:00:00Z"',
  ],
] as const;

/** A change of one value somewhere in a JSON text, which stays JSON; undefined for what is none. */
export function mutateJson(text: string, random: Random): string | undefined {
  let root: unknown;
  try {
    root = JSON.parse(text);
  } catch {
    return undefined;
  }
  const places = placesIn(root);
  const chosen = places[random.below(places.length || 1)];
  const marker = `"\u0000${random.below(1e9)}"`;
  const value = random.oneIn(6) ? nested(random) : random.pick(values);
  if (chosen === undefined) return value;
  const { holder, key } = chosen;
  const mark: unknown = JSON.parse(JSON.stringify(marker));
  if (Array.isArray(holder)) changeList(holder, Number(key), mark, random);
  else changeObject(holder, key, mark, random);
  return written(root)?.replaceAll(JSON.stringify(marker), () => value);
}

/** What is nested by the thousand can be read, but not written. */
function written(root: unknown): string | undefined {
  try {
    return JSON.stringify(root);
  } catch {
    return undefined;
  }
}

function changeList(list: unknown[], at: number, value: unknown, random: Random): void {
  switch (random.below(4)) {
    case 0:
      list.splice(at, 1);
      return;
    case 1:
      list.push(...Array.from({ length: 1 + random.below(40) }, () => list[at]));
      return;
    default:
      list[at] = value;
  }
}

function changeObject(object: Record<string, unknown>, key: string, value: unknown, random: Random): void {
  const before = object[key];
  switch (random.below(6)) {
    case 0:
      delete object[key];
      return;
    case 1:
      delete object[key];
      object[random.pick([`${key}x`, key.toUpperCase(), camel(key), "__proto__x", ""])] = before;
      return;
    case 2:
      object[random.pick(["error", "scope", "type", "message", "title", "detail", "extra"])] = value;
      return;
    default:
      object[key] = value;
  }
}

interface Place {
  readonly holder: Record<string, unknown> | unknown[];
  readonly key: string;
}

const mostPlaces = 500;

function placesIn(root: unknown): Place[] {
  const places: Place[] = [];
  const seen: unknown[] = [root];
  for (let value = seen.pop(); seen.length > 0 || value !== undefined; value = seen.pop()) {
    if (places.length > mostPlaces) break;
    if (!isHolder(value)) continue;
    for (const [key, item] of Object.entries(value)) {
      places.push({ holder: value, key });
      seen.push(item);
    }
  }
  return places;
}

function isHolder(value: unknown): value is Record<string, unknown> | unknown[] {
  return typeof value === "object" && value !== null;
}

function nested(random: Random): string {
  const deep = 2 ** random.below(14);
  return random.oneIn(2)
    ? "[".repeat(deep) + "]".repeat(deep)
    : `${'{"a":'.repeat(deep)}1${"}".repeat(deep)}`;
}

function camel(key: string): string {
  return key.replace(/-(\w)/g, (_, letter: string) => letter.toUpperCase());
}
