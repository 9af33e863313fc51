import assert from "node:assert/strict";
import { readFile, stat, writeFile } from "node:fs/promises";
import { basename, join } from "node:path";
import { fileURLToPath } from "node:url";
import { execa } from "execa";
import * as z from "zod/mini";
import { TemporaryFolder } from "./temporaryFolder.ts";

/** Notes what a program has loaded by its end: Node's own modules, of which only Node itself knows, and files. */
const recorder = `const files = [];
require("node:module").registerHooks({
  load: (url, context, next) => {
    if (url.startsWith("file:")) files.push(url);
    return next(url, context);
  },
});
let isInputOpened = false;
const { get } = Object.getOwnPropertyDescriptor(process, "stdin");
Object.defineProperty(process, "stdin", { get: () => ((isInputOpened = true), get.call(process)) });
const note = () => {
  const nodes = process.moduleLoadList.map((name) => name.replace("NativeModule ", ""));
  require("node:fs").writeFileSync(process.env.LOADED, JSON.stringify({ nodes, files, isInputOpened }));
};
process.once("exit", note);
// A runner kills itself.
const { kill } = process;
process.kill = (...to) => (note(), kill.apply(process, to));`;

const loadedSchema = z.object({
  nodes: z.array(z.string()),
  files: z.array(z.string()),
  isInputOpened: z.boolean(),
});

/** Runs a program of Node's to its end, with no input. @returns what it has loaded. */
export async function loadedFiles(
  words: readonly string[],
  options: { readonly env?: NodeJS.ProcessEnv; readonly cwd?: string } = {},
) {
  await using folder = await TemporaryFolder.make();
  const [script, loaded] = [join(folder.path, "recorder.cjs"), join(folder.path, "loaded.json")];
  await writeFile(script, recorder);
  const { exitCode, signal, stderr } = await execa(process.execPath, ["--require", script, ...words], {
    ...options,
    // Without what the tests' processes begin with, which loads files of its own.
    env: { ...options.env, NODE_OPTIONS: "", LOADED: loaded },
    input: "",
    reject: false,
  });
  assert(exitCode === 0 || signal === "SIGKILL", stderr);
  const { nodes, files, isInputOpened } = loadedSchema.parse(JSON.parse(await readFile(loaded, "utf8")));
  const paths = files.map((url) => fileURLToPath(url));
  const sizes = await Promise.all(paths.map(async (path) => (await stat(path)).size));
  return {
    nodes,
    isInputOpened,
    names: paths.map((path) => basename(path)),
    kilobytes: sizes.reduce((sum, size) => sum + size, 0) / 1024,
  };
}
