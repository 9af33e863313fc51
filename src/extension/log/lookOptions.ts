import type { DecorationRenderOptions, ThemeColor } from "vscode";
import type { LookKey } from "./lookKeys.ts";

const terminalColors = [
  "terminal.ansiBlack",
  "terminal.ansiRed",
  "terminal.ansiGreen",
  "terminal.ansiYellow",
  "terminal.ansiBlue",
  "terminal.ansiMagenta",
  "terminal.ansiCyan",
  "terminal.ansiWhite",
  "terminal.ansiBrightBlack",
  "terminal.ansiBrightRed",
  "terminal.ansiBrightGreen",
  "terminal.ansiBrightYellow",
  "terminal.ansiBrightBlue",
  "terminal.ansiBrightMagenta",
  "terminal.ansiBrightCyan",
  "terminal.ansiBrightWhite",
] as const;

const [black, red, blue, white, grey, brightWhite] = [0, 1, 4, 7, 8, 15];
/** How far a bright colour's number is from its plain one's. */
const bright = 8;
/** Colours of a terminal that are dark in nearly every theme: black, red, blue, magenta and grey. */
const darkGrounds: ReadonlySet<number> = new Set([black, red, blue, 5, grey]);

/** Makes a colour of the editor's theme. */
type Color = (id: string) => ThemeColor;

/** How a decoration looks: by the theme's own colours, so that it fits every theme. */
export function lookOptions(key: LookKey, color: Color): DecorationRenderOptions {
  const [, kind, number] = /^(.+)-(\d+)$/.exec(key) ?? [];
  switch (kind) {
    case "text":
      return onEditor(Number(number), color);
    case "text-on-color":
      return { color: ansi(Number(number), color) };
    case "text-for-ground":
      return forGround(Number(number), color);
    case "ground":
      return { backgroundColor: ansi(Number(number), color) };
    default:
      return plainLook(key, color);
  }
}

function plainLook(key: LookKey, color: Color): DecorationRenderOptions {
  switch (key) {
    case "inverse-text":
      return { color: color("editor.background") };
    case "inverse-ground":
      return { backgroundColor: color("editor.foreground") };
    case "bold":
      return { fontWeight: "bold" };
    case "dim":
      return { opacity: "0.75" };
    case "quiet":
      return { color: color("descriptionForeground") };
    case "italic":
      return { fontStyle: "italic" };
    case "underline":
      return { textDecoration: "underline" };
    case "stderr":
      return {
        isWholeLine: true,
        borderWidth: "0 0 0 2px",
        borderStyle: "solid",
        borderColor: color("editorWarning.foreground"),
      };
    case "note":
      return { fontStyle: "italic", color: color("descriptionForeground") };
    default:
      return {};
  }
}

/**
 * A colour on the editor's own ground. A terminal makes text readable that is nearly of its ground's colour; here black on
 * dark, white on light and grey on either have the colours that the theme has for such text. Most themes' bright colours
 * are too bright on light ground, and their red and blue too dark on dark ground, most of all with high contrast.
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

/** Text that has no colour of its own, on one. */
function forGround(ground: number, color: Color): DecorationRenderOptions {
  if (ground === white) return { color: color("editor.background") };
  return darkGrounds.has(ground) ? lightText(color) : darkText(color);
}

function lightText(color: Color): DecorationRenderOptions {
  return { light: { color: color("editor.background") }, dark: { color: color("editor.foreground") } };
}

function darkText(color: Color): DecorationRenderOptions {
  return { light: { color: color("editor.foreground") }, dark: { color: color("editor.background") } };
}

function ansi(code: number, color: Color): ThemeColor {
  return color(terminalColors[code] ?? "editor.foreground");
}
