/** A row of a table or one statement of the prose, as it stands on a page. */
export interface Statement {
  /** The nearest heading above it, without its number. */
  readonly section: string;
  readonly kind: "row" | "prose";
  /** The cells of a row; a prose statement is one text. Without markup for code, and with single spaces. */
  readonly texts: readonly [string, ...string[]];
}

/**
 * Reads the statements of a Markdown page in their order: each row of each table, each item of each list, each sentence of
 * each paragraph, and each indented block of code as a whole. Only the Markdown of the pages is known here.
 */
export function readPage(markdown: string): Statement[] {
  const statements: Statement[] = [];
  let section = "";
  for (const block of blocksOf(markdown)) {
    const [first = ""] = block;
    const heading = /^#+ +(?:\d+\. +)?(.*)$/.exec(first)?.[1];
    if (heading !== undefined) {
      section = plain(heading);
    } else if (first.startsWith("|")) {
      // The first line names the columns, the second one is the rule below them.
      for (const line of block.slice(2)) {
        const [cell = "", ...cells] = cellsOf(line);
        statements.push({ section, kind: "row", texts: [cell, ...cells] });
      }
    } else {
      const whole = block.join(" ");
      const isWhole = /^( {4}|[-*] |\d+\. )/.test(first);
      for (const text of isWhole ? [whole.replace(/^([-*]|\d+\.) /, "")] : sentencesOf(whole)) {
        statements.push({ section, kind: "prose", texts: [plain(text)] });
      }
    }
  }
  return statements;
}

/** Lines that belong together: a heading, a table, a paragraph, an item of a list with its continuation, a block of code. */
function blocksOf(markdown: string): string[][] {
  const blocks: string[][] = [];
  let open: string[] | undefined;
  for (const line of markdown.split(/\r?\n/)) {
    const isItem = /^([-*]|\d+\.) /.test(line);
    const goesOn = open !== undefined && !isItem && line.startsWith("|") === open[0]?.startsWith("|");
    if (line.trim() === "") {
      open = undefined;
    } else if (line.startsWith("#")) {
      blocks.push([line]);
      open = undefined;
    } else if (goesOn) {
      open?.push(line);
    } else {
      open = [line];
      blocks.push(open);
    }
  }
  return blocks;
}

function cellsOf(line: string): string[] {
  return line
    .trim()
    .replace(/^\||\|$/g, "")
    .split(/(?<!\\)\|/)
    .map(plain);
}

/** What stands in code is no sentence's end. */
function sentencesOf(text: string): string[] {
  const kept = text.replaceAll(/`[^`]*`/g, (code) => code.replaceAll(" ", "\0"));
  return kept.split(/(?<=[.!?])\s+(?=[A-Z`])/).map((sentence) => sentence.replaceAll("\0", " "));
}

function plain(text: string): string {
  return text
    .replaceAll(/`|\*\*/g, "")
    .replaceAll(/\s+/g, " ")
    .trim();
}
