import { quoted, type Span } from "./problem.ts";
import {
  change,
  entryOfLine,
  inQuotes,
  insertion,
  type Line,
  lineIndex,
  linesOf,
  type Site,
  type Slip,
  tearsQuotes,
  valueAround,
} from "./slip.ts";

/** In a flow collection, the comma between a function's arguments ends the value. */
export function tornCall({ text, error }: Site): Slip | undefined {
  return callSlip(text, error.start);
}

/** @param at somewhere in the call of a function. */
export function callSlip(text: string, at: number): Slip | undefined {
  const lineStart = text.lastIndexOf("\n", at - 1) + 1;
  const [line = ""] = text.slice(lineStart).split("\n", 1);
  const calls = line.matchAll(
    /(?<=[[,{]\s*|:\s+)!?[a-z][\w-]*\((?:[^()"{}]|\([^()"{}]*\))*,(?:[^()"{}]|\([^()"{}]*\))*\)[^,}\]"]*/gi,
  );
  for (const { 0: call, index } of calls) {
    const [start, end] = [lineStart + index, lineStart + index + call.trimEnd().length];
    if (start <= at && at <= end) return quoteSlip(text, { start, end });
  }
  return undefined;
}

export function quotes({ text, line, error }: Site): Slip | undefined {
  const value = valueAround(line, error.start);
  // Its typographic quotes, or its last colon, would become a part of it.
  if (value === undefined || /^[“”„‟‘’«]|:$/.test(text.slice(value.start, value.end))) return undefined;
  return quoteSlip(text, value);
}

/** Says why a value needs quotes, and puts it into them. */
export function quoteSlip(text: string, { start, end }: Span): Slip {
  const value = text.slice(start, end);
  // `'it's fine'` is one quotation, `"a" "b"` are two.
  const inner = /^(["'])((?:(?!\1).)*\1(?!\s).*|(?:(?!\1).)*)\1$/.exec(value)?.[2];
  return {
    message: `put this value in quotes: ${whyQuotes(value)}`,
    start,
    end,
    fix: change("quote", start, end, inQuotes(inner ?? value)),
  };
}

function whyQuotes(value: string): string {
  const first = /^(?:\{\{|[@`%*&!|>[{])/.exec(value)?.[0];
  if (first !== undefined) return first === "`" ? "it begins with a backtick" : `it begins with \`${first}\``;
  if (/^["']/.test(value)) return `it contains \`${value.slice(0, 1)}\``;
  const part = [": ", "${{", "{{", " #", ",", "{"].find((sign) => value.includes(sign));
  return part === undefined ? "YAML would read it as something else" : `it contains \`${part}\``;
}

export function singleQuotes({ text, line, error }: Site): Slip | undefined {
  const value = valueAround(line, error.start);
  const inner = value && /^"(.*)"$/.exec(text.slice(value.start, value.end))?.[1];
  if (value === undefined || inner === undefined) return undefined;
  const sequence = text.slice(error.start, error.start + 2);
  const isPlain = !/\\[0abtnvfre\\/N_LPxuU]/.test(inner.replaceAll(/\\x(?![0-9a-f]{2})/gi, ""));
  return {
    message: `\`${quoted(sequence)}\` means nothing in double quotes; put this value in single quotes`,
    ...value,
    ...(isPlain
      ? {
          fix: change(
            "quote",
            value.start,
            value.end,
            `'${inner.replaceAll('\\"', '"').replaceAll("'", "''")}'`,
          ),
        }
      : {}),
  };
}

/** A script or a list that begins on the line of its name: `run: | sort`. */
export function onNextLine({ text, line, error }: Site): Slip | undefined {
  const entry = entryOfLine(line);
  const value = entry && text.slice(entry.value.start, entry.value.end);
  const [head, sign, rest = ""] = /^([|>-])[ \t]+(?=\S)(.*)$/.exec(value ?? "") ?? [];
  if (entry === undefined || head === undefined || error.start < entry.value.start) return undefined;
  const indent = `\n${" ".repeat(entry.column + 2)}`;
  const { start, end } = entry.value;
  return sign === "-"
    ? {
        message: "a list begins on the line below its name",
        start,
        end,
        fix: change("move", start - 1, start, indent),
      }
    : {
        message: `the text after \`${sign}\` begins on the next line`,
        start,
        end,
        fix: change("move", start + 1, end - rest.length, indent),
      };
}

export function unclosedQuote({ lines, error }: Site): readonly Slip[] {
  const sign = /Missing closing (["'])quote/.exec(error.message)?.[1];
  return sign === undefined ? [] : lines.flatMap((line) => unclosedIn(line, sign));
}

/** A quote above that only the next one, further down, closes. */
export function unclosedQuoteAbove({ lines, index }: Site): readonly Slip[] {
  return lines.slice(0, index).flatMap((line) => [...unclosedIn(line, '"'), ...unclosedIn(line, "'")]);
}

function unclosedIn(line: Line, sign: string): readonly Slip[] {
  const value = valueAround(line, line.end);
  const written =
    value === undefined ? "" : line.text.slice(value.start - line.start, value.end - line.start);
  if (value === undefined || !written.startsWith(sign) || count(written, sign) % 2 === 0) return [];
  return [
    {
      message: `this \`${sign}\` isn't closed`,
      ...value,
      fix: change("insert", value.end, value.end, sign),
    },
  ];
}

function count(text: string, sign: string): number {
  return text.split(sign).length - 1;
}

/** A quotation that a `#` cuts off: YAML takes the rest of the value for a comment. */
export function tornSlip(text: string, start: number, end: number): Slip | undefined {
  if (!tearsQuotes(text.slice(start, end))) return undefined;
  const lines = linesOf(text);
  const line = lines[lineIndex(lines, start)];
  const value = line && valueAround(line, start);
  return value?.start === start && value.end > end ? quoteSlip(text, value) : undefined;
}

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

/** Also moves the lines of the item that are aligned with its first letter. */
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

const noBreak = /^[\u00A0\u2000-\u200B\u3000][\u00A0\u2000-\u200B\u3000\s]*/;

/** Whether a name begins with spaces that YAML takes for letters. */
export function hasNoBreak(name: string): boolean {
  return noBreak.test(name);
}

export function noBreakSlip(name: string, at: number): Slip {
  const length = noBreak.exec(name)?.[0].length ?? 0;
  return {
    message: "this line is indented with no-break spaces, which YAML takes for letters",
    start: at,
    end: at + length,
    fix: change("indent", at, at + length, " ".repeat(length)),
  };
}
