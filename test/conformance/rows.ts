import { createHash } from "node:crypto";
import { readFile } from "node:fs/promises";
import { join } from "node:path";
import { readPage, type Statement } from "./readPage.ts";
import kept from "./rows.json" with { type: "json" };

/** The pages, and the files that they stand in. */
export const pages = { description: "service-description.md", contract: "contract.md" } as const;

type Kept = typeof kept;

/** The name of each row and rule that has a test: `<page>, <section>: <row>`. */
export type RowId = { [P in keyof Kept]: IdsOf<P, Kept[P]> }[keyof Kept];
type IdsOf<Page extends string, Sections> = {
  [S in keyof Sections & string]: `${Page}, ${S}: ${keyof Sections[S] & string}`;
}[keyof Sections & string];

/** By page, section and row: the SHA-256 of what the row says. Rules are numbered by us; remarks need no test. */
export type Rows = Readonly<Record<string, Readonly<Record<string, Readonly<Record<string, string>>>>>>;

export const rowsFile = join(import.meta.dirname, "rows.json");

/** The list as it is kept here. */
export const keptRows: Rows = kept;

/** The rows and rules of a list that need a test. */
export function testedIds(rows: Rows): string[] {
  return Object.entries(rows).flatMap(([page, sections]) =>
    Object.entries(sections).flatMap(([section, named]) =>
      Object.keys(named)
        .filter((name) => !/^remark \d+$/.test(name))
        .map((name) => `${page}, ${section}: ${name}`),
    ),
  );
}

/**
 * The list of the pages in a folder. A row is named by its first cells. What stands in prose keeps the name that the list
 * from before has for the same words; what is new there becomes a rule, with the next number of its section.
 */
export async function rowsOf(folder: string, before: Rows): Promise<Rows> {
  const rows: Record<string, Rows[string]> = {};
  for (const [page, file] of Object.entries(pages)) {
    const statements = readPage(await readFile(join(folder, file), "utf8"));
    rows[page] = sectionsOf(statements, before[page] ?? {});
  }
  return rows;
}

function sectionsOf(statements: readonly Statement[], before: Rows[string]): Rows[string] {
  const sections: Record<string, Record<string, string>> = {};
  for (const statement of statements) {
    const section = brief(statement.section.replace(/ \(.*\)$/, ""));
    const named = sections[section] ?? {};
    sections[section] = named;
    const hash = createHash("sha256").update(JSON.stringify(statement.texts)).digest("hex");
    const name =
      statement.kind === "row" ? rowName(statement) : proseName(hash, named, before[section] ?? {});
    if (name in named) throw new Error(`Two rows of the section ${section} are called ${name}.`);
    named[name] = hash;
  }
  return sections;
}

function rowName({ texts: [first, second = ""] }: Statement): string {
  if (/^(given|ours)$/.test(first)) return brief(second);
  return brief(/^[A-Z]+$/.test(first) ? `${first} ${second}` : first);
}

function proseName(
  hash: string,
  named: Readonly<Record<string, string>>,
  before: Readonly<Record<string, string>>,
): string {
  const [known] = Object.entries(before).find(([name, was]) => was === hash && !(name in named)) ?? [];
  if (known !== undefined) return known;
  for (let number = 1; ; number++) {
    const name = `rule ${number}`;
    if (!(name in named) && !(name in before)) return name;
  }
}

/** A long name by its first words: enough to find the row. */
function brief(text: string): string {
  const words = text.split(" ");
  return words.length > 5 ? `${words.slice(0, 4).join(" ")}…` : text;
}
