import { entryOfLine, inQuotes, type Line, lineIndex, linesOf, tearsQuotes, valueAround } from "./lines.ts";
import { quoted, type Span } from "./problem.ts";
import { change, type Site, type Slip } from "./slip.ts";

/** Between brackets, the comma of a function's arguments ends the value. */
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
  return value && quoteSlip(text, value);
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

export function trailingColon({ text, line, error }: Site): Slip | undefined {
  const value = valueAround(line, error.start);
  if (value === undefined || !/^[^:]*\w:$/.test(text.slice(value.start, value.end))) return undefined;
  return {
    message: "a value can't end with a colon; remove it, or put the value in quotes",
    ...value,
    fix: change("remove", value.end - 1, value.end, ""),
  };
}

export function typographicQuotes({ text, line, error }: Site): Slip | undefined {
  const value = valueAround(line, error.start);
  const inner = value && /^[“”„‟‘’«](.*)[“”‟‘’»]$/.exec(text.slice(value.start, value.end))?.[1];
  if (value === undefined || inner === undefined) return undefined;
  return {
    message: "these quotes are typographic; YAML needs straight ones",
    ...value,
    fix: change("change", value.start, value.end, inQuotes(inner)),
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

/** A quote that the next one, further down, has closed. */
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

export function count(text: string, sign: string): number {
  return text.split(sign).length - 1;
}

/** A torn quotation: the rest of the value is a comment. */
export function tornSlip(text: string, start: number, end: number): Slip | undefined {
  if (!tearsQuotes(text.slice(start, end))) return undefined;
  const lines = linesOf(text);
  const line = lines[lineIndex(lines, start)];
  const value = line && valueAround(line, start);
  return value?.start === start && value.end > end ? quoteSlip(text, value) : undefined;
}
