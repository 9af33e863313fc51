import type { LogSnapshot } from "./logSnapshot.ts";
import type { PlaceLink } from "./placeLinks.ts";
import { keptScheme, type UriParts } from "./runUri.ts";

/** A link of the document. Lines and columns of the document count from 0, those of the place from 1. */
export interface FoundLink {
  readonly line: number;
  readonly start: number;
  readonly end: number;
  readonly target:
    | { readonly kind: "kept"; readonly uri: UriParts }
    | { readonly kind: "file"; readonly path: string; readonly line: number; readonly column: number };
}

/** Of more, those at the beginning, where the failed step is, and those at the end. */
const most = { atBeginning: 500, atEnd: 1_500 } as const;

/**
 * Where the document leads: to kept files, and to places in files that the project has.
 * @param find the absolute path of a file that a log names; undefined for what is none of the project's.
 */
export async function logLinks(
  snapshot: LogSnapshot,
  find: (named: string) => Promise<string | undefined>,
): Promise<FoundLink[]> {
  const found: Promise<FoundLink | undefined>[] = [];
  for (const [line, { links }] of candidates(snapshot)) {
    for (const link of links) {
      const { start, end } = link;
      if (link.kind === "place") found.push(placeLink(link, line, find));
      else {
        const uri = { scheme: keptScheme, path: link.path };
        found.push(Promise.resolve({ line, start, end, target: { kind: "kept", uri } }));
      }
    }
  }
  return (await Promise.all(found)).filter((link) => link !== undefined);
}

function candidates(snapshot: LogSnapshot) {
  const linked = [...snapshot.lines(0, snapshot.lineCount - 1)].filter(([, { links }]) => links.length > 0);
  if (linked.length <= most.atBeginning + most.atEnd) return linked;
  return [...linked.slice(0, most.atBeginning), ...linked.slice(-most.atEnd)];
}

async function placeLink(
  { start, end, path: named, line: at, column }: PlaceLink,
  line: number,
  find: (named: string) => Promise<string | undefined>,
): Promise<FoundLink | undefined> {
  const path = await find(named);
  return path === undefined
    ? undefined
    : { line, start, end, target: { kind: "file", path, line: at, column } };
}
