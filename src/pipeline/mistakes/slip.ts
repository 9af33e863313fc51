import type { YAMLError } from "yaml";
import type { Line } from "./lines.ts";
import type { Edit, Fix, Span } from "./problem.ts";

/** A mistake in a YAML text, in a person's words, with what would mend it. */
export interface Slip extends Span {
  readonly message: string;
  readonly fix?: Fix;
  /** Edits after which the rest can be read, but that are no fix. */
  readonly recovery?: readonly Edit[];
}

/** An error of the YAML library in its text. */
export interface Site {
  readonly text: string;
  readonly lines: readonly Line[];
  readonly line: Line;
  readonly index: number;
  readonly error: Pick<YAMLError, "code" | "message"> & { readonly start: number; readonly end: number };
  /** Whether pipeline files have a field of this name. */
  readonly isField: (name: string) => boolean;
}

export type Guess = (site: Site) => Slip | readonly Slip[] | undefined;

/** A fix that inserts, removes or replaces. */
export function change(kind: Fix["kind"], start: number, end: number, text: string): Fix {
  return { kind, edits: [{ span: { start, end }, text }] };
}

export function insertion(at: number, text: string): Edit {
  return { span: { start: at, end: at }, text };
}
