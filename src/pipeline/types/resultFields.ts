/** What the result of every step has. */
export const everyResultField = ["outcome", "time", "attempts"] as const;

/** What the result of a step has by its type, beside that. */
export const resultFields: Readonly<Record<"http" | "sql" | "cli" | "browser", readonly string[]>> = {
  http: ["status", "headers", "cookies", "text", "json"],
  sql: ["rows", "row-count"],
  cli: ["exit-code", "output", "stdout", "stderr", "json"],
  browser: ["url", "title", "text"],
};

/** The expression for a path of `mask`. */
export function inResult(path: string): string {
  return path.startsWith("[") ? `this${path}` : `this.${path}`;
}
