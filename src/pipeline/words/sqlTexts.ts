// biome-ignore-all lint/suspicious/noTemplateCurlyInString: the references that pipeline files are written with.
import type { FieldTexts } from "./fieldText.ts";
import { everyStepTexts, timeoutBounds, timeoutValues, typeText } from "./pipelineTexts.ts";

const params = {
  meaning:
    "The values for the statement's parameters (`?` in SQLite, `$1` and so on in PostgreSQL), in their order.",
  byDefault: "none",
};

/** A resource of type sql. */
export const sqlResourceTexts: FieldTexts = {
  type: typeText,
  url: {
    meaning:
      "The database's address. A file is named against the project's folder. A password comes from the environment only.",
    bounds:
      "`sqlite:<path>`, `sqlite::memory:`, `postgres://user@host:5432/database`, or one of these out of the environment",
    values: [
      '"sqlite::memory:"',
      "sqlite:data.db",
      "sqlite:data.db?mode=rwc",
      "sqlite:data.db?mode=ro",
      '"postgres://app:${{ env.DB_PASSWORD }}@127.0.0.1:5432/shop"',
      "${{ env.DATABASE_URL }}",
    ],
  },
  timeout: {
    meaning: "How long each step may take as a whole, connecting included.",
    byDefault: "`10s`",
    bounds: timeoutBounds,
    values: timeoutValues,
  },
};

/** A step that uses such a resource. */
export const sqlStepTexts: FieldTexts = {
  ...everyStepTexts,
  query: { meaning: "One statement. Values belong into `params` and not into the text." },
  params,
  statements: {
    meaning:
      "Several statements that are one transaction: all of them or none. Each is a text, or a map with `query` and `params`.",
  },
  "statements.query": { meaning: "One statement of the transaction." },
  "statements.params": params,
  timeout: {
    meaning: "How long this step may take as a whole.",
    byDefault: "the resource's, else `10s`",
    bounds: timeoutBounds,
    values: timeoutValues,
  },
  expect: {
    meaning: "What the last statement has to return; otherwise the step fails.",
    byDefault: "nothing is compared",
  },
  "expect.rows": {
    meaning:
      "The rows of the last statement, in their order and no more of them; of a row only the columns that are written here are compared.",
    byDefault: "none",
  },
  "expect.row-count": {
    meaning: "How many rows the last statement returns or, if it returns none, inserts, changes or deletes.",
    byDefault: "none",
    bounds: "a whole number, 0 or more",
    values: ["1", "0"],
  },
};
