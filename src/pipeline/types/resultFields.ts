type Fields = Readonly<Record<string, string>>;

/** What an `outcome` can be. */
export const outcomes = ["succeeded", "failed", "skipped"] as const;

export const everyResultField: Fields = {
  outcome: "How the step ended: `succeeded`, `failed` or `skipped`.",
  time: "How long the step took, in seconds.",
  attempts: "How many attempts the step took, with `retry`.",
};

/** What the result of a step has besides, by its type. */
export const resultFields: Readonly<Record<"http" | "sql" | "cli" | "browser", Fields>> = {
  http: {
    status: "The reply's status, a number.",
    headers: "The reply's headers, by their names in lower case.",
    cookies: "The cookies that the reply sets, by their names.",
    text: "The reply's body as text.",
    json: "The reply's body, read as JSON.",
  },
  sql: {
    rows: "The rows of the last statement: a list of maps.",
    "row-count": "How many rows the last statement gave or changed.",
  },
  cli: {
    "exit-code": "The program's exit code.",
    output: "What the program printed: standard output and standard error.",
    stdout: "What the program printed on standard output.",
    stderr: "What the program printed on standard error.",
    json: "What the program printed on standard output, read as JSON.",
  },
  browser: { url: "The page's address.", title: "The page's title.", text: "The page's visible text." },
};

export const runFields: Fields = {
  id: "The run's id.",
  pipeline: "The pipeline's name.",
  project: "The project's name.",
  "started-at": "When the run started, such as `2026-11-25T13:00:00.000Z`.",
};

export const eachFields: Fields = {
  value: "The item of the list.",
  index: "The item's place in the list, from 0.",
};

/** What `this` has, whatever the type: the step isn't over yet. */
const { outcome: _, ...own } = everyResultField;
export const ownResultFields: Fields = own;

/** The expression for a path of `mask`. */
export function inResult(path: string): string {
  return path.startsWith("[") ? `this${path}` : `this.${path}`;
}

/** The resource types; the service has no others (contract: "Limits"). */
export const resourceTypeNames = ["http", "sql", "browser", "cli"] as const;
export type ResourceTypeName = (typeof resourceTypeNames)[number];
