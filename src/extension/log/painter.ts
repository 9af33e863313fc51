import type {
  DecorationRenderOptions,
  Range,
  TextDocument,
  TextEditor,
  TextEditorDecorationType,
  ThemeColor,
} from "vscode";
import type { SgrStyle } from "../../text/escapeSequences.ts";
import type { LogSnapshot } from "./logText.ts";
import type { TextLine } from "./textLine.ts";

export interface PainterDeps {
  readonly decorationType: (options: DecorationRenderOptions) => TextEditorDecorationType;
  readonly color: Color;
  readonly range: (startLine: number, start: number, endLine: number, end: number) => Range;
  /** The document's snapshot; undefined if it isn't a log, and while the snapshot doesn't match the document. */
  readonly snapshotOf: (document: TextDocument) => LogSnapshot | undefined;
}

type Color = (id: string) => ThemeColor;

/** Decorations by identifying names; a text may have several. */
type Decorations = Record<string, DecorationRenderOptions>;

/** How many lines around the visible ones are painted, for scrolling. */
const margin = 80;

/** Paints the visible lines, at a cost that doesn't grow with the log. */
export function linePainter({ decorationType, color, range, snapshotOf }: PainterDeps) {
  const types = new Map<string, TextEditorDecorationType>();
  const painted = new WeakMap<TextEditor, ReadonlySet<TextEditorDecorationType>>();
  const typeOf = (name: string, options: DecorationRenderOptions): TextEditorDecorationType => {
    const found = types.get(name) ?? decorationType(options);
    types.set(name, found);
    return found;
  };
  return {
    paint: (editor: TextEditor): void => {
      const snapshot = snapshotOf(editor.document);
      if (snapshot === undefined) return;
      const ranges = new Map<TextEditorDecorationType, Range[]>();
      const put = (decorations: Decorations, line: number, start: number, end: number) => {
        for (const [name, options] of Object.entries(decorations)) {
          const type = typeOf(name, options);
          const found = ranges.get(type) ?? [];
          found.push(range(line, start, line, end));
          ranges.set(type, found);
        }
      };
      for (const { start, end } of inView(editor, snapshot)) {
        for (const [number, line] of snapshot.lines(start, end)) {
          put(lineDecorations(line, color), number, 0, line.text.length);
          for (const look of line.styles)
            put(styleDecorations(look.style, color), number, look.start, look.end);
        }
      }
      for (const type of painted.get(editor) ?? []) if (!ranges.has(type)) editor.setDecorations(type, []);
      for (const [type, found] of ranges) editor.setDecorations(type, found);
      painted.set(editor, new Set(ranges.keys()));
    },
    dispose: () => {
      for (const type of types.values()) type.dispose();
      types.clear();
    },
  };
}

/** The visible lines and those around them, each once despite folding, and the step's line that the editor pins above. */
function inView(
  editor: TextEditor,
  { lineCount, parts }: LogSnapshot,
): { readonly start: number; end: number }[] {
  const spans: { readonly start: number; end: number }[] = [];
  const top = editor.visibleRanges[0]?.start.line ?? 0;
  const pinned = parts.findLast(({ firstLine }) => firstLine <= top)?.firstLine;
  if (pinned !== undefined && pinned < top - margin) spans.push({ start: pinned, end: pinned });
  for (const { start, end } of editor.visibleRanges) {
    const last = spans.at(-1);
    const from = Math.max(0, start.line - margin);
    const to = Math.min(lineCount - 1, end.line + margin);
    if (last !== undefined && from <= last.end + 1) last.end = Math.max(last.end, to);
    else spans.push({ start: from, end: to });
  }
  return spans;
}

function lineDecorations({ stream }: TextLine, color: Color): Decorations {
  switch (stream) {
    case "stderr":
      return {
        stderr: {
          isWholeLine: true,
          borderWidth: "0 0 0 2px",
          borderStyle: "solid",
          borderColor: color("editorWarning.foreground"),
        },
      };
    case "note":
      return { note: { fontStyle: "italic", color: color("descriptionForeground") } };
    default:
      return {};
  }
}

const terminalColors = ["Black", "Red", "Green", "Yellow", "Blue", "Magenta", "Cyan", "White"] as const;
const [black, red, blue, white, grey, brightWhite] = [0, 1, 4, 7, 8, 15];
/** The distance between the numbers of a bright colour and its plain one. */
const bright = 8;
/** Terminal colours that are dark in nearly every theme: black, red, blue, magenta and grey. */
const darkGrounds: ReadonlySet<number> = new Set([black, red, blue, 5, grey]);
/** Black, white and bright white: on a background, text in these is made readable. */
const neutral: ReadonlySet<number> = new Set([black, white, brightWhite]);

/** The decorations of a text by its SGR style, in the theme's own terminal colours. `inverse` swaps the colours. */
export function styleDecorations({ foreground, background, effects }: SgrStyle, color: Color): Decorations {
  const isInverse = effects.has("inverse");
  const [text, ground] = isInverse ? [background, foreground] : [foreground, background];
  const found: Decorations = {};
  if (ground !== undefined) found[`ground-${ground}`] = { backgroundColor: ansi(ground, color) };
  else if (isInverse) found["inverse-ground"] = { backgroundColor: color("editor.foreground") };
  if (ground !== undefined && (text === undefined || neutral.has(text)))
    found[`text-for-ground-${ground}`] = forGround(ground, color);
  else if (text !== undefined && ground === undefined && !isInverse)
    found[`text-${text}`] = onEditor(text, color);
  else if (text !== undefined) found[`text-on-color-${text}`] = { color: ansi(text, color) };
  else if (isInverse) found["inverse-text"] = { color: color("editor.background") };
  const isColored = Object.keys(found).length > 0;
  if (effects.has("bold")) found["bold"] = { fontWeight: "bold" };
  if (effects.has("dim") && isColored) found["dim"] = { opacity: "0.75" };
  if (effects.has("dim") && !isColored) found["quiet"] = { color: color("descriptionForeground") };
  if (effects.has("italic")) found["italic"] = { fontStyle: "italic" };
  if (effects.has("underline")) found["underline"] = { textDecoration: "underline" };
  return found;
}

/**
 * A colour on the editor's background. Terminals keep such text readable: here black on dark, white on light, and grey become the
 * theme's muted colour. Most themes' bright colours are too bright on light backgrounds, and their red and blue too dark on dark
 * ones.
 */
function onEditor(code: number, color: Color): DecorationRenderOptions {
  const own = { color: ansi(code, color) };
  const quiet = { color: color("descriptionForeground") };
  if (code === grey) return quiet;
  if (code === black) return { light: own, dark: quiet };
  if (code === brightWhite) return { light: { color: color("editor.foreground") }, dark: own };
  if (code > grey) return { light: { color: ansi(code - bright, color) }, dark: own };
  if (code === red || code === blue) return { light: own, dark: { color: ansi(code + bright, color) } };
  return own;
}

/** Uncoloured text on a coloured background. */
function forGround(ground: number, color: Color): DecorationRenderOptions {
  const [own, other] = [{ color: color("editor.background") }, { color: color("editor.foreground") }];
  if (ground === white) return own;
  return darkGrounds.has(ground) ? { light: own, dark: other } : { light: other, dark: own };
}

function ansi(code: number, color: Color): ThemeColor {
  return color(`terminal.ansi${code < bright ? "" : "Bright"}${terminalColors[code % bright]}`);
}
