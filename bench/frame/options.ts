import { parseArgs } from "node:util";

export interface Options {
  readonly asJson: boolean;
  /** The names of the benchmarks that are asked for; none: all. */
  readonly chosen: readonly string[];
  readonly idleSeconds: number;
}

export type Asked =
  | { readonly kind: "run"; readonly options: Options }
  | { readonly kind: "help" }
  | { readonly kind: "wrong"; readonly why: string };

/** What the command line asks for. @param names the benchmarks that there are. */
export function readOptions(words: readonly string[], names: readonly string[]): Asked {
  const parsed = parse(words);
  if (typeof parsed === "string") return { kind: "wrong", why: parsed };
  const { values, positionals } = parsed;
  if (values.help) return { kind: "help" };
  const unknown = positionals.filter((name) => !names.includes(name));
  if (unknown.length > 0) {
    return {
      kind: "wrong",
      why: `There is no benchmark ${unknown.join(", ")}. There are: ${names.join(", ")}.`,
    };
  }
  const text = values["idle-seconds"];
  const idleSeconds = Number(text);
  if (!/^\d+$/.test(text) || idleSeconds < 1 || idleSeconds > 3600) {
    return { kind: "wrong", why: `--idle-seconds is ${text}: it has to be a number from 1 to 3600.` };
  }
  return { kind: "run", options: { asJson: values.json, chosen: positionals, idleSeconds } };
}

function parse(words: readonly string[]) {
  try {
    return parseArgs({
      args: [...words],
      allowPositionals: true,
      options: {
        json: { type: "boolean", default: false },
        help: { type: "boolean", default: false },
        "idle-seconds": { type: "string", default: "60" },
      },
    });
  } catch (error) {
    if (error instanceof Error && "code" in error && String(error.code).startsWith("ERR_PARSE_ARGS")) {
      return error.message;
    }
    throw error;
  }
}
