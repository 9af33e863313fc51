/** A piece of a tooltip: a name in bold with its text, or a text alone. Texts may come from elsewhere. */
export interface TooltipLine {
  readonly name?: string;
  readonly text: string;
}

/** A row of one of the views, before the editor's own objects are made of it. */
export interface Row {
  /** Stays the same for the same thing, so that nothing jumps or collapses. */
  readonly id: string;
  readonly label: string;
  readonly description?: string;
  /** A codicon, and the name of a theme's colour for it. */
  readonly icon?: { readonly id: string; readonly color?: string };
  readonly folding: "none" | "collapsed" | "expanded";
  /** Words that the manifest's `when` clauses look for. */
  readonly tokens: readonly string[];
  /** What a screen reader says. */
  readonly spoken: string;
  /** What a click and Enter do. */
  readonly action?: Action;
  /** Makes the editor ask for the decorations of this address as soon as the row is on the screen. */
  readonly address?: string;
}

/** A command with its one argument, or a place in a file to be opened. */
type Action =
  | { readonly kind: "command"; readonly command: string; readonly argument: unknown }
  | { readonly kind: "open"; readonly file: string; readonly line?: number; readonly column?: number };
