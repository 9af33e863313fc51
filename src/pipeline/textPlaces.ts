// biome-ignore-all lint/suspicious/noTemplateCurlyInString: braces as pipeline files write them.
import type { ContextName } from "./expression/names.ts";
import type { Path } from "./file/yamlSource.ts";
import type { KnownStep } from "./knownNames.ts";
import { httpMethods } from "./types/httpFile.ts";

/** What a text of the file may contain. */
export type Place =
  | { readonly kind: "fixed" }
  /** The text is an expression itself. */
  | { readonly kind: "expression"; readonly contexts: readonly ContextName[] }
  | {
      readonly kind: "text";
      readonly contexts: readonly ContextName[];
      /** What to do with a context that isn't one of these, as the end of a sentence. */
      readonly instead?: string;
      /** The text is one expression, whose value is a list. */
      readonly isList?: true;
    };

const fixed: Place = { kind: "fixed" };
const outside = ["env", "inputs", "run"] as const;
const inside = ["env", "inputs", "steps", "run"] as const;

/** The parts of a step that decide what its texts may contain. */
export type Around = Pick<KnownStep, "type" | "isEach" | "scripts">;

/**
 * What the text at a path of the file may contain.
 * @param step the step in which it is.
 */
export function placeOf(path: Path, step?: Around): Place {
  const [top, , field] = path;
  switch (top) {
    case "inputs":
      return path.length === 2 || field === "default" ? { kind: "text", contexts: ["env", "run"] } : fixed;
    case "resources":
      return path.length === 3 && field === "type" ? fixed : { kind: "text", contexts: outside };
    case "outputs":
      return { kind: "text", contexts: inside };
    case "steps":
    case "finally":
      return step === undefined ? fixed : placeInStep(path.slice(2), step);
    default:
      return fixed;
  }
}

/** Whether a path leads into the JSON that a step sends or expects. */
export function isJson([list, , field, part]: Path): boolean {
  const isOfStep = list === "steps" || list === "finally";
  return isOfStep && (field === "json" || (field === "expect" && part === "json"));
}

/** Whether a text at a path of the file is an address, or its path. */
export function isAddress([top, , field, part]: Path): boolean {
  if (top === "resources") return field === "base-url";
  return part === undefined ? addressFields.has(String(field)) : field === "request" && part === "path";
}

const addressFields: ReadonlySet<string> = new Set([...httpMethods, "goto"]);

const byParam = "give it as a param, so that it can't change the statement";
export const byVariable =
  'pass it by `env: { NAME: … }` and write `"$NAME"`, so that it can\'t become a part of the script; a list of a program and its arguments takes it too';

export const behindShell =
  'pass it by `env: { NAME: … }` and let the script read the variable, such as `"$NAME"`, so that it can\'t become a part of the script';

export const byWith =
  "pass it by `with: { name: … }` and write `name`, so that it can't become a part of the script";

function ofEnvironment(instead: string): Place {
  return { kind: "text", contexts: ["env"], instead };
}

function placeInStep(path: Path, { type, isEach, scripts }: Around): Place {
  const [field, part, more, beside] = path;
  const own: readonly ContextName[] = isEach ? [...inside, "each"] : inside;
  if (type === "browser" && path.at(-1) === "css") return fixed;
  switch (field) {
    case undefined:
      return { kind: "text", contexts: own };
    case "name":
    case "use":
    case "mask":
    case "retry":
    case "on-failure":
    case "keep":
    case "file":
      return fixed;
    case "if":
      return { kind: "expression", contexts: inside };
    case "each":
      return { kind: "text", contexts: inside, ...(part === undefined && { isList: true }) };
    case "multipart":
      if (path.length > 2 && path.at(-1) === "file") return fixed;
      break;
    case "expect":
      if (part === "json-schema") return fixed;
      if (part === "that") return { kind: "expression", contexts: [...own, "this"] };
      break;
    case "run":
      if (type === "cli" && part === undefined) return ofEnvironment(byVariable);
      if (type === "cli" && typeof part === "number" && scripts.has(part)) return ofEnvironment(behindShell);
      break;
    case "actions":
    case "read":
      if (type === "browser" && more === "evaluate" && (beside === undefined || beside === "script"))
        return ofEnvironment(byWith);
      break;
    case "query":
      if (type === "sql") return ofEnvironment(byParam);
      break;
    case "statements":
      if (type === "sql" && (more === undefined || more === "query")) return ofEnvironment(byParam);
  }
  return { kind: "text", contexts: own };
}
