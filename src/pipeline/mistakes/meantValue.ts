import { inQuotes } from "./lines.ts";

const listsOfTexts: readonly unknown[] = ["mask", "unmasked", "tags", "options", "params"];

const elements: readonly unknown[] = ["click", "check", "uncheck", "wait-for", "download"];

/**
 * The value that was meant by one of another kind, as YAML: of `retry: 3`, `tags: nightly`, `timeout: 5 sec`.
 * @param wanted what the message says.
 * @param inside the names that a map could have there.
 */
export function meantValue(
  field: unknown,
  value: unknown,
  { wanted, inside }: { readonly wanted: string; readonly inside: readonly string[] },
): string | undefined {
  if (field === "retry" && typeof value === "number" && Number.isInteger(value) && value > 0)
    return `{ times: ${value}, every: 1s }`;
  if (field === "expect" && typeof value === "number") {
    const code = ["status", "exit-code"].find((name) => inside.includes(name));
    return code && `{ ${code}: ${value} }`;
  }
  if (field === "expect" && Array.isArray(value) && value.every((item) => typeof item === "string"))
    return `{ that: [${value.map(inQuotes).join(", ")}] }`;
  if (wanted.startsWith("expected a map"))
    return typeof value === "string" ? meantMap(field, value) : undefined;
  if (wanted.startsWith("expected text") && typeof value === "object") return meantExpectation(value);
  if (typeof value !== "string") return undefined;
  if (listsOfTexts.includes(field)) return `[${plain(value)}]`;
  if (wanted.startsWith("expected a length of time")) return meantDuration(value);
  if (!/^expected a (?:whole )?number\b/.test(wanted)) return undefined;
  if (/^[1-5]XX$/.test(value)) return value.toLowerCase();
  return /^\d{1,9}(?:\.\d{1,3})?$/.test(value) ? value : undefined;
}

/** Of `{ contains: paid }` and `{ matches: a+ }` or `{ matches: /a+/i }`, where a text says the same. */
function meantExpectation(value: object | null): string | undefined {
  const [[name, text] = [], ...others] = Object.entries(value ?? {});
  if (others.length > 0 || typeof text !== "string") return undefined;
  if (name === "contains") return plain(text);
  if (name !== "matches" && name !== "regex") return undefined;
  return inQuotes(/^\/.*\/[a-z]*$/s.test(text) ? text : `/${text}/`);
}

/** `5 sec`, `10 minutes`. */
function meantDuration(text: string): string | undefined {
  const written =
    /^(\d{1,9}(?:\.\d{1,3})?) ?(?:(ms|milli(?:second)?s?)|(s)(?:ec(?:ond)?s?)?|(m)(?:in(?:ute)?s?)?|(h)(?:ours?)?)$/i;
  const [, amount, ms, ...units] = written.exec(text.trim()) ?? [];
  if (amount === undefined) return undefined;
  return `${amount}${ms === undefined ? units.join("").toLowerCase() : "ms"}`;
}

/** Of `GET /health`, of `1280x720`, and of `#send` and `Send`, as Playwright has them. */
function meantMap(field: unknown, text: string): string | undefined {
  const [, method, path] = /^([A-Z]+) (\S+)$/.exec(text) ?? [];
  if (field === "request" && method !== undefined && path !== undefined)
    return `{ method: ${method}, path: ${plain(path)} }`;
  const [, width, height] = /^(\d+)x(\d+)$/i.exec(text) ?? [];
  if (field === "viewport" && width !== undefined) return `{ width: ${width}, height: ${height} }`;
  return elements.includes(field) ? `{ ${/^[#.[]/.test(text) ? "css" : "text"}: ${plain(text)} }` : undefined;
}

/** A text within a flow map or list. */
function plain(text: string): string {
  return /^[A-Za-z/][\w./-]*$/.test(text) && !/^(?:true|false|null|yes|no|on|off)$/i.test(text)
    ? text
    : inQuotes(text);
}
