import type { YAMLError } from "yaml";
import { indentation, missingPipe, tabs, tooShallow, wrongLine } from "./indentSlips.ts";
import { quoted } from "./problem.ts";
import { type Guess, lineIndex, linesOf, type Site, type Slip } from "./slip.ts";
import {
  glued,
  missingColon,
  missingComma,
  missingSpace,
  onNextLine,
  quotes,
  singleQuotes,
  tooFewBrackets,
  tooManyBrackets,
  tornCall,
  unclosedQuote,
  unclosedQuoteAbove,
} from "./valueSlips.ts";

/**
 * The guesses at a mistake by the library's code, the likeliest first. A slip counts only if its fix mends the text, so a guess
 * needn't be sure.
 */
const guesses: Readonly<Partial<Record<YAMLError["code"], readonly Guess[]>>> = {
  TAB_AS_INDENT: [tabs],
  BAD_INDENT: [tabs, tooFewBrackets, tooManyBrackets, indentation],
  BLOCK_AS_IMPLICIT_KEY: [missingSpace, wrongLine, quotes, indentation],
  BLOCK_IN_FLOW: [missingComma, quotes],
  MULTILINE_IMPLICIT_KEY: [missingSpace, missingColon, wrongLine],
  MISSING_CHAR: [
    glued,
    tornCall,
    missingSpace,
    tooShallow,
    missingPipe,
    unclosedQuote,
    missingColon,
    indentation,
    wrongLine,
  ],
  UNEXPECTED_TOKEN: [tornCall, onNextLine, quotes, tooManyBrackets, unclosedQuoteAbove],
  BAD_SCALAR_START: [quotes],
  BAD_ALIAS: [quotes],
  BAD_DQ_ESCAPE: [singleQuotes],
  TAG_RESOLVE_FAILED: [quotes],
  NON_STRING_KEY: [quotes],
};

/** The mistakes that may have caused an error, the likeliest first; the last one is the error itself, without a fix. */
export function slipsBehind(
  text: string,
  error: YAMLError,
  isField: (name: string) => boolean,
): readonly Slip[] {
  const lines = linesOf(text);
  const [start, end] = error.pos;
  const index = lineIndex(lines, start);
  const line = lines[index];
  const recovery =
    error.code === "MULTIPLE_DOCS" ? { recovery: [{ span: { start, end: text.length }, text: "" }] } : {};
  const message = messages[error.code] ?? `this is not valid YAML: ${quoted(error.message)}`;
  const plain: Slip = { message, start, end: start, ...recovery };
  if (line === undefined) return [plain];
  const site: Site = {
    text,
    lines,
    line,
    index,
    error: { code: error.code, message: error.message, start, end },
    isField,
  };
  return [...(guesses[error.code] ?? []).flatMap((guess) => guess(site) ?? []), plain];
}

const messages: Readonly<Partial<Record<YAMLError["code"], string>>> = {
  MULTIPLE_DOCS: "a pipeline file holds one YAML document, and here a second one begins",
  RESOURCE_EXHAUSTION: "this is nested too deep to read",
  BAD_INDENT: "this line's indentation doesn't fit the lines above",
  TAB_AS_INDENT: "this line is indented with a tab; YAML is indented with spaces",
  TAG_RESOLVE_FAILED: "a pipeline file has no YAML tags (words that begin with `!`)",
  BAD_DIRECTIVE: "a line can't begin with `%` here; put a value that does in quotes",
  BLOCK_AS_IMPLICIT_KEY: "a colon ends a name here: leave it out, or put the value in plain quotes",
  NON_STRING_KEY: "expected a plain name before the colon",
};
