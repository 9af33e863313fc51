import { accessSync, constants } from "node:fs";
import { mkdtemp, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { basename, delimiter, dirname, join } from "node:path";
import { type Address, inAddress } from "../../pipeline/file/address.ts";
import { splitText } from "../../pipeline/file/textPieces.ts";
import type { Step } from "../../pipeline/types/resourceTypes.ts";
import { type Environment, ofProduct } from "../../project/environment.ts";
import type { RunnerJob } from "../launch/protocol.ts";
import { runMarker } from "../processes/processTable.ts";

/** The environment without the variables that steps don't get. */
export function withoutWithheld(env: Environment): Record<string, string> {
  return Object.fromEntries(
    Object.entries(env).flatMap(([name, value]): [string, string][] =>
      value === undefined || ofProduct.test(name) ? [] : [[name, value]],
    ),
  );
}

/**
 * The environment of a run's processes: that of its start, else the service's own, without the withheld variables and with the
 * run's marker.
 */
export function stepEnvironment(
  own: Environment,
  { runId, environment }: Pick<RunnerJob, "runId" | "environment">,
): Record<string, string> {
  return {
    ...withoutWithheld(environment === undefined ? own : variablesOf(environment)),
    [runMarker]: runId,
  };
}

/** @param environment the variables, each as `NAME=value`. */
export function variablesOf(environment: readonly string[]): Record<string, string> {
  return Object.fromEntries(
    environment.map((variable) => {
      const end = variable.indexOf("=");
      return [variable.slice(0, end), variable.slice(end + 1)];
    }),
  );
}

/** The variable's value. On Windows its name is case-insensitive. */
export function variable(
  environment: Environment,
  name: string,
  platform: NodeJS.Platform,
): string | undefined {
  // Every object has a `constructor` that is no variable.
  const exact = Object.hasOwn(environment, name) ? environment[name] : undefined;
  if (exact !== undefined || platform !== "win32") return exact;
  const wanted = name.toUpperCase();
  return Object.entries(environment).find(([candidate]) => candidate.toUpperCase() === wanted)?.[1];
}

/** A step with the environment's values, or why some can't be filled in, in a sentence. */
type FilledIn =
  | { readonly kind: "filled"; readonly step: Step }
  | { readonly kind: "missing"; readonly names: readonly string[] }
  | { readonly kind: "unfit"; readonly problem: string };

export type Lookup = (name: string) => string | undefined;

/** Replaces every `${{ env.NAME }}` in a step's texts, names of members included, by its value; within an address encoded. */
export function fillIn(step: Step, lookup: Lookup): FilledIn {
  const missing = new Set<string>();
  const unfit = new Set<string>();
  /** @param shown how a value stands behind what is there already. */
  const fill = (text: string, shown: (before: string, value: string) => string | undefined): string => {
    const split = splitText(text);
    // The parser has rejected invalid references, so this text only looks like one.
    if (split.kind === "invalid") return text;
    return split.pieces.reduce((before, piece) => {
      if (piece.kind === "words") return before + piece.words;
      if (piece.kind === "source") return before;
      const value = lookup(piece.name);
      if (value === undefined) missing.add(piece.name);
      const fitting = shown(before, value ?? "");
      if (fitting === undefined) unfit.add(piece.name);
      return before + (fitting ?? "");
    }, "");
  };
  const filled = mapTexts(withoutAddress(step), (text) => fill(text, (_, value) => value));
  const address = addressOf(step) && mapTexts(addressOf(step), (text) => fill(text, inAddress));
  if (missing.size > 0) return { kind: "missing", names: [...missing] };
  const [name] = unfit;
  if (name !== undefined) {
    const problem = `with the value of \`${name}\` a part of the address is \`.\` or \`..\`, which would make another path of it`;
    return { kind: "unfit", problem };
  }
  return { kind: "filled", step: withAddress(filled, address) };
}

function addressOf(step: Step): Address | undefined {
  return step.type === "http" ? step.address : step.type === "browser" ? step.goto : undefined;
}

function withAddress(step: Step, address: Address | undefined): Step {
  if (address === undefined) return step;
  return step.type === "http"
    ? { ...step, address }
    : step.type === "browser"
      ? { ...step, goto: address }
      : step;
}

function withoutAddress(step: Step): Step {
  return withAddress(step, addressOf(step) && { target: "" });
}

/** The names of all variables that the steps refer to. Their values are masked. */
export function referencedNames(steps: readonly Step[]): ReadonlySet<string> {
  const names = new Set<string>();
  for (const step of steps) {
    fillIn(step, (name) => {
      names.add(name);
      return "";
    });
  }
  return names;
}

function mapTexts<T>(value: T, change: (text: string) => string): T;
function mapTexts(value: unknown, change: (text: string) => string): unknown {
  if (typeof value === "string") return change(value);
  if (Array.isArray(value)) return value.map((item) => mapTexts(item, change));
  if (typeof value !== "object" || value === null) return value;
  return Object.fromEntries(
    Object.entries(value).map(([name, item]) => [change(name), mapTexts(item, change)]),
  );
}

/** Where a shell that has no PATH looks for programs, which it would no longer do with one. */
function withoutPath(platform: NodeJS.Platform): string {
  return platform === "win32" ? "" : "/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin";
}

/** An environment with `node` on its PATH; `dispose` is called when the run is over. */
interface WithNode {
  readonly environment: Readonly<Record<string, string>>;
  /** The file that a step's `node` is. */
  readonly node: string;
  readonly dispose: () => Promise<void>;
}

/**
 * Provides `node` to steps on a machine without it: this process runs in Node, or in an editor that can act as Node. It
 * comes last on the PATH, so that a `node` of the machine is preferred.
 *
 * @param execPath the executable of this process.
 */
export async function nodeOnPath(
  environment: Readonly<Record<string, string>>,
  execPath: string,
  platform: NodeJS.Platform,
): Promise<WithNode> {
  const pathName = Object.keys(environment).find((name) => name.toUpperCase() === "PATH") ?? "PATH";
  const found = onPath("node", environment, platform);
  if (found !== undefined) return { environment, node: found, dispose: async () => {} };
  const withFolder = (folder: string) => ({
    ...environment,
    [pathName]: [environment[pathName] ?? withoutPath(platform), folder].filter(Boolean).join(delimiter),
  });
  if (/^node(?:\.exe)?$/i.test(basename(execPath))) {
    return { environment: withFolder(dirname(execPath)), node: execPath, dispose: async () => {} };
  }
  const folder = await mkdtemp(join(tmpdir(), "pipeline-runs-node-"));
  await writeNodeScript(folder, execPath, platform);
  return {
    environment: withFolder(folder),
    node: execPath,
    dispose: () => rm(folder, { recursive: true, force: true }),
  };
}

/** The first program of this name in the folders of the PATH. */
export function onPath(
  program: string,
  environment: Readonly<Record<string, string>>,
  platform: NodeJS.Platform,
): string | undefined {
  const folders = (variable(environment, "PATH", platform) ?? "")
    .split(delimiter)
    .filter((folder) => folder !== "");
  const names = platform === "win32" ? [".exe", ".cmd", ".bat"].map((end) => program + end) : [program];
  return folders.flatMap((folder) => names.map((name) => join(folder, name))).find(isExecutable);
}

/** Writes a script `node` that starts the editor's program as Node. */
async function writeNodeScript(folder: string, execPath: string, platform: NodeJS.Platform): Promise<void> {
  if (platform === "win32") {
    const lines = ["@set ELECTRON_RUN_AS_NODE=1", `@"${execPath.replaceAll("%", "%%")}" %*`, ""];
    await writeFile(join(folder, "node.cmd"), lines.join("\r\n"));
    return;
  }
  const quoted = `'${execPath.replaceAll("'", `'\\''`)}'`;
  await writeFile(join(folder, "node"), `#!/bin/sh\nELECTRON_RUN_AS_NODE=1 exec ${quoted} "$@"\n`, {
    mode: 0o700,
  });
}

function isExecutable(path: string): boolean {
  try {
    accessSync(path, constants.X_OK);
    return true;
  } catch {
    return false;
  }
}
