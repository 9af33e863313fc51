import { type Line, valueAround } from "./lines.ts";
import { change, insertion, type Site, type Slip } from "./slip.ts";
import { count } from "./valueSlips.ts";

/** `run:npm`, `-use: sh`, and other characters that look like a colon or a space. */
export function missingSpace({ line: { text, start }, lines, index }: Site): Slip | undefined {
  const dash = /^( *)-(?=\w[\w.-]*:)/.exec(text);
  if (dash !== null) return gluedDash(start + dash[0].length, dash[0].length, lines.slice(index + 1));
  const [head, name = "", sign = "", space = ""] =
    /^\s*(?:- +)*([\w$][\w$.-]*?)(:|\s*[：=])([\u00A0\u2000-\u200B\u3000\s]*)(?=\S)/.exec(text) ?? [];
  if (head === undefined || (sign === ":" && /^ +$/.test(space))) return undefined;
  const at = start + head.length;
  const from = at - sign.length - space.length;
  const isGlued = sign === ":" && space === "";
  const message = isGlued
    ? `the colon after \`${name}\` needs a space after it`
    : sign === ":"
      ? `the colon after \`${name}\` needs a plain space after it, not a no-break space`
      : `expected a colon and a space after \`${name}\`, not \`${sign.trim()}\``;
  return {
    message,
    start: from - name.length,
    end: from + sign.trimEnd().length,
    fix: isGlued ? change("space", at, at, " ") : change("change", from, at, ": "),
  };
}

/** The lines that go with the item are moved too, as far as they stand below its first letter. */
function gluedDash(at: number, column: number, below: readonly Line[]): Slip {
  const end = below.findIndex(({ indent, text }) => indent !== column || text[indent] === "-");
  const rest = below.slice(0, end === -1 ? below.length : end);
  return {
    message: "a dash needs a space after it",
    start: at - 1,
    end: at,
    fix: { kind: "space", edits: [insertion(at, " "), ...rest.map(({ start }) => insertion(start, " "))] },
  };
}

export function missingColon({ line: { text, start, end }, isField }: Site): Slip | undefined {
  const [head, name = "", rest = ""] = /^\s*(?:- +)*([\w$][\w$.-]*)(.*)$/.exec(text) ?? [];
  if (head === undefined || /:(?:\s|$)/.test(text)) return undefined;
  const at = end - rest.length;
  const message = "expected `name: value`, with a colon and a space";
  const span = { start: at - name.length, end: start + text.trimEnd().length };
  return isField(name)
    ? {
        message: `the colon after \`${name}\` is missing`,
        ...span,
        end: at,
        fix: change("insert", at, at, ":"),
      }
    : { message, ...span };
}

/** In a flow map: `{ use: sh run: b }`. */
export function missingComma({ text, line, error, isField }: Site): Slip | undefined {
  const value = valueAround(line, error.start);
  const [, before, name] =
    (value && /^(.*\S)\s+([\w$.-]+):\s/.exec(text.slice(value.start, value.end))) ?? [];
  if (value === undefined || before === undefined || name === undefined || !isField(name)) return undefined;
  const at = value.start + before.length;
  return {
    message: `a comma is missing before \`${name}\``,
    start: value.start,
    end: at,
    fix: change("insert", at, at, ","),
  };
}

const bracketOf = { "[": "]", "{": "}" } as const;

export function tooFewBrackets({ text, line, lines, index, error }: Site): Slip | undefined {
  const sign = /end with a ([\]}])/.exec(error.message)?.[1];
  const open = sign === "]" ? "[" : "{";
  const isOpen = (part: string) => count(part, open) > count(part, bracketOf[open]);
  const before = text.slice(line.start, error.start).trimEnd();
  if (sign !== undefined && isOpen(before)) {
    const start = line.start + before.lastIndexOf(open);
    const at = line.start + before.length;
    const fix = change("insert", at, at, bracketOf[open]);
    return { message: `this \`${open}\` isn't closed`, start, end: start + 1, fix };
  }
  const above = lines.slice(0, index).findLast((other) => isOpen(other.text));
  if (sign === undefined || above === undefined) return undefined;
  const at = above.start + above.text.lastIndexOf(open);
  const end = above.start + above.text.trimEnd().length;
  return {
    message: `this \`${text.slice(at, at + 1)}\` isn't closed`,
    start: at,
    end: at + 1,
    fix: change("insert", end, end, open === "{" ? " }" : sign),
  };
}

export function tooManyBrackets({ text, error }: Site): Slip | undefined {
  const sign = text.slice(error.start, error.start + 1);
  if (sign !== "]" && sign !== "}") return undefined;
  const start = /[ \t]$/.test(text.slice(0, error.start)) ? error.start - 1 : error.start;
  return {
    message: `this \`${sign}\` closes nothing`,
    start: error.start,
    end: error.start + 1,
    fix: change("remove", start, error.start + 1, ""),
  };
}

export function glued({ text, error }: Site): Slip | undefined {
  if (text[error.start] !== "#") return undefined;
  return {
    message: "a comment needs a space before its `#`",
    start: error.start,
    end: error.start + 1,
    fix: change("space", error.start, error.start, " "),
  };
}
