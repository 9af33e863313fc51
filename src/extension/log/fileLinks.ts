import { realpath, stat } from "node:fs/promises";
import { basename, dirname, join, relative, resolve, sep } from "node:path";
import type { Clock } from "../../machine/clock.ts";
import { isInside, pipelineFileName } from "../../project/projectFile.ts";

/** A part of a line that may name a position in a file of the run's project. */
export interface FileLink {
  readonly kind: "place";
  readonly start: number;
  readonly end: number;
  /** As written: relative to the project's folder, or absolute. */
  readonly path: string;
  /** Both count from 1. */
  readonly line: number;
  readonly column: number;
}

/** Longer lines are data, not messages. */
const longestLine = 4_000;
const mostLinks = 20;
/** `:3:5` and `:3` after a path, as most programs print positions, and `(3,5)`, as .NET and TypeScript do. */
const positions = /:(\d{1,7})(?::(\d{1,6}))?(?!\d)|\((\d{1,7}),(\d{1,6})\)/g;
/** Characters that don't occur in a printed path. */
const notInPath = /[\s"'`()<>[\]{}|,;:*?=\u2500-\u257f]/;
/** From the first slash to the next character that no path has; after a space, a quote or similar. */
const absolutePath = /(?<=^|[\s"'`(=[])(?:[A-Za-z]:[\\/]|\/)[^\s"'`()<>[\]{}|,;:*?=]{2,1000}/g;
/** Has a folder or an extension, so that neither a time nor `name:3` counts as a file. */
const likePath = /^(?!\/\/)(?=.*[^\d.])(?:.*[/\\][^/\\]+|[^/\\]*\.[A-Za-z]\w{0,11})$/;

/**
 * The possible file positions in a line of a log: `src/a.ts:10:3`, `a.ts(10,3)`, an absolute path, with or without `file://`.
 * Linear in the line's length; doesn't check whether a file exists.
 */
export function findFileLinks(text: string): FileLink[] {
  if (text.length > longestLine) return [];
  const links: FileLink[] = [];
  let from = 0;
  for (const match of text.matchAll(positions)) {
    if (links.length === mostLinks) break;
    const start = pathStart(text, from, match.index);
    const path = text.slice(start, match.index);
    const end = match.index + match[0].length;
    from = end;
    if (!likePath.test(path)) continue;
    const [, line = match[3], column = match[4] ?? "1"] = match;
    links.push({ kind: "place", start, end, path, line: Number(line), column: Number(column) });
  }
  return [...links, ...wholePaths(text, links)]
    .slice(0, mostLinks)
    .sort((one, other) => one.start - other.start);
}

/** Absolute paths without a position, which lead to the file's beginning. */
function wholePaths(text: string, others: readonly FileLink[]): FileLink[] {
  const found: FileLink[] = [];
  for (const match of text.matchAll(absolutePath)) {
    const path = match[0].replace(/[.!]+$/, "");
    const [start, end] = [match.index, match.index + path.length];
    const isFree = others.every((other) => end <= other.start || other.end <= start);
    if (isFree && likePath.test(path)) found.push({ kind: "place", start, end, path, line: 1, column: 1 });
    if (found.length === mostLinks) break;
  }
  return found;
}

function pathStart(text: string, from: number, end: number): number {
  let start = end;
  while (start > from && !notInPath.test(text.charAt(start - 1))) start -= 1;
  // In `file:///home/…`, the path begins at the third slash.
  if (text.startsWith("//", start) && text.slice(start - 5, start) === "file:") return start + 2;
  const isDrive = /(?:^|[^A-Za-z])[A-Za-z]:$/.test(text.slice(Math.max(0, start - 3), start));
  return isDrive && start - 2 >= from && /[\\/]/.test(text.charAt(start)) ? start - 2 : start;
}

function isPipelineFile(path: string): boolean {
  return dirname(path) === "pipelines" && pipelineFileName.test(basename(path));
}

/** In milliseconds. Short, since a run may create files. */
const cacheTime = 10_000;
const mostKnown = 1_000;

/** Finds the files of a run's project that its log names. @param root the project's folder, absolute. */
export function projectFilesIn(root: string, clock: Clock) {
  const known = new Map<string, Promise<string | undefined>>();
  let since = clock.monotonic();
  const find = async (named: string): Promise<string | undefined> => {
    // It would access a network share, which no log may cause.
    if (/^[\\/]{2}/.test(named) || named.includes("\0")) return undefined;
    const path = resolve(root, sep === "/" ? named.replaceAll("\\", "/") : named);
    try {
      const realRoot = await realpath(root);
      // A program names its files as they lie, and the window may have opened the project by a link.
      const opened = isInside(realRoot, path) ? join(root, relative(realRoot, path)) : path;
      if (!isInside(root, opened)) return undefined;
      const real = await realpath(opened);
      // A project's pipeline files may lie elsewhere.
      const isOwn = isInside(realRoot, real) || isPipelineFile(relative(root, opened));
      return isOwn && (await stat(real)).isFile() ? opened : undefined;
    } catch {
      return undefined;
    }
  };
  /**
   * The absolute path of a file that a log names.
   * @param named absolute, or relative to the project's folder; unchecked.
   * @returns undefined if it isn't a file, or is outside the folder, even through a link.
   */
  return (named: string): Promise<string | undefined> => {
    if (clock.monotonic() - since > cacheTime || known.size >= mostKnown) {
      known.clear();
      since = clock.monotonic();
    }
    const found = known.get(named) ?? find(named);
    known.set(named, found);
    return found;
  };
}
