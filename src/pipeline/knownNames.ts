import { isMap } from "./file/checkShape.ts";
import type { ProblemList } from "./file/problemList.ts";
import { quoted } from "./mistakes/problem.ts";
import type { PartFiles } from "./partFiles.ts";
import type { Input } from "./pipeline.ts";
import { findResourceType } from "./types/resourceTypes.ts";
import type { ResourceTypeName } from "./types/resultFields.ts";

/** A step as expressions know it, even if it is invalid otherwise. */
export interface KnownStep {
  readonly list: "steps" | "finally";
  readonly index: number;
  /** When it runs, among the file's own steps. */
  readonly order: number;
  readonly id: string | undefined;
  readonly isEach: boolean;
  /** The items of its `run` that are scripts for a shell. */
  readonly scripts: ReadonlySet<number>;
  /** Undefined for a part, and where it isn't known. */
  readonly type: ResourceTypeName | undefined;
  /** The names of a part's outputs; undefined where they aren't known. */
  readonly outputs: readonly string[] | undefined;
  /** The names in a step's `read`. */
  readonly read: readonly string[];
}

/** What the expressions of a file can name. */
export interface KnownNames {
  /** With their types, where these are known. */
  readonly inputs: ReadonlyMap<string, Input["type"] | undefined>;
  /** The values that an input may have, where it names them. */
  readonly options: ReadonlyMap<string, Input["options"]>;
  readonly steps: readonly KnownStep[];
}

/**
 * Finds the names in the file as it is written. An id that is there twice is a problem of the second.
 * @param declared the inputs that are valid.
 */
export function knownNames(
  value: Readonly<Record<string, unknown>>,
  declared: readonly Input[],
  files: PartFiles,
  problems: ProblemList,
): KnownNames {
  const resources = isMap(value["resources"]) ? value["resources"] : {};
  const ids = new Set<string>();
  const stepsOf = (list: "steps" | "finally", before: number): KnownStep[] => {
    const entries: readonly unknown[] = Array.isArray(value[list]) ? value[list] : [];
    return entries.flatMap((entry, index) => {
      if (!isMap(entry)) return [];
      const { id, use, include, each, run, read } = entry;
      if (typeof id === "string") {
        if (ids.has(id))
          problems.add([list, index, "id"], `another step has the id \`${quoted(id)}\` already`);
        ids.add(id);
      }
      const resource = typeof use === "string" && Object.hasOwn(resources, use) ? resources[use] : undefined;
      const part = typeof include === "string" ? files.file(include) : undefined;
      return {
        list,
        index,
        order: before + index,
        id: typeof id === "string" ? id : undefined,
        isEach: each !== undefined,
        scripts: scriptItems(Array.isArray(run) ? run : []),
        type: isMap(resource) ? findResourceType(resource["type"])?.type : undefined,
        outputs: part?.kind === "file" ? Object.keys(part.parsed.pipeline.outputs ?? {}) : undefined,
        read: isMap(read) ? Object.keys(read) : [],
      };
    });
  };
  const steps = stepsOf("steps", 0);
  const names = isMap(value["inputs"]) ? Object.keys(value["inputs"]) : [];
  const inputs = new Map(names.map((name) => [name, declared.find((input) => input.name === name)?.type]));
  const options = new Map(declared.map((input) => [input.name, input.options]));
  return { inputs, options, steps: [...steps, ...stepsOf("finally", steps.length + 1)] };
}

const shells = /^(?:ba|da|z|k|a|fi)?sh$/;
/** These take all that follows their flag as their script. */
const windowsShells: ReadonlyMap<string, RegExp> = new Map([
  ["cmd", /^\/[ck]/i],
  ["powershell", /^[-/]c(?:ommand)?$/i],
  ["pwsh", /^[-/]c(?:ommand)?$/i],
]);

/**
 * The items of a list to run that a shell takes as its script: of `[env, sh, -ec, 'echo "$1"', sh, a]` the fourth. Those after it
 * are values for the script, which can't become a part of it.
 */
export function scriptItems(run: readonly unknown[]): ReadonlySet<number> {
  for (const [at, word] of run.entries()) {
    const program = programOf(word);
    const script = shells.test(program) ? scriptBehind(run, at) : undefined;
    if (script !== undefined) return new Set([script]);
    const flagOf = windowsShells.get(program);
    if (flagOf === undefined) continue;
    const flag = run.findIndex((item, index) => index > at && flagOf.test(String(item)));
    return new Set(flag === -1 ? [] : [...run.keys()].slice(flag + 1));
  }
  return new Set();
}

function programOf(word: unknown): string {
  const name = String(word).split(/[/\\]/).at(-1) ?? "";
  return name.toLowerCase().replace(/\.exe$/, "");
}

/** @param at the shell's own index. */
function scriptBehind(run: readonly unknown[], at: number): number | undefined {
  let isCommand = false;
  for (let index = at + 1; index < run.length; index += 1) {
    const word = String(run[index]);
    if (!/^[-+]./.test(word)) return isCommand ? index : undefined;
    isCommand ||= /^-[A-Za-z]*c/.test(word);
    // `-o pipefail` is one option.
    if (/^[-+][A-Za-z]*[oO]$/.test(word)) index += 1;
  }
  return undefined;
}
