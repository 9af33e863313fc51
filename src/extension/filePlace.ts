/** Where in a project a text points to, as `pipelines/nightly.yaml:3:5: …`; line and column count from 1. */
export interface FilePlace {
  readonly path: string;
  readonly line: number;
  readonly column: number;
}

/** A problem begins with its place; a text without end, as a hostile service may send, is not searched to its end. */
const mostLookedAt = 4_000;

/** The first place that a problem of a pipeline file names; undefined when the text names none. */
export function findPlace(text: string): FilePlace | undefined {
  const [, path, line, column] =
    /(pipelines\/[^\n:]+\.yaml):(\d+):(\d+): /.exec(text.slice(0, mostLookedAt)) ?? [];
  if (path === undefined) return undefined;
  return { path, line: Number(line), column: Number(column) };
}
