import { readFileSync, renameSync, rmSync, writeFileSync } from "node:fs";
import { createRequire, Module } from "node:module";
import { basename, dirname } from "node:path";
import { assertOwnParts } from "./ownFolder.ts";

interface KeptProgram {
  /** The path of a CommonJS program that is bundled, absolute. */
  readonly program: string;
  /** The file that holds, for the next time, what is compiled of it; in a folder of this user alone (see `ownFolder`). */
  readonly kept: string;
  /** Called before the program loads a file beside it. */
  readonly beforeOthers: () => void;
}

/**
 * Loads a program as `require` does, and keeps the functions that were compiled by the time that the process ends. What Node's own
 * compile cache keeps is only what a program compiles when it begins, so each start would compile anew most of what it runs.
 *
 * V8 runs what it is given: it looks at the program's length and its own version, and at nothing of the code. So the file holds
 * the program, to be compared, and the code twice, each of which shows what a disk has made of the other.
 */
export function loadKept({ program, kept, beforeOthers }: KeptProgram): unknown {
  const require = createRequire(program);
  // Loaded only here: whoever asks for the version has no use for it.
  const { Script }: typeof import("node:vm") = require("node:vm");
  const source = readFileSync(program);
  const cachedData = codeOf(source, kept);
  const script = new Script(Buffer.concat([opening, source, closing]).toString(), {
    filename: program,
    columnOffset: -opening.length,
    ...(cachedData === undefined ? {} : { cachedData }),
  });
  // Another V8, or one with other flags, doesn't take it.
  if (cachedData === undefined || script.cachedDataRejected === true) {
    process.once("exit", () => {
      const code = script.createCachedData();
      keep(kept, Buffer.concat([source, code, code]));
    });
  }
  const module = new Module(program);
  // A file beside it that asks for the program gets this one.
  require.cache[require.resolve(program)] = module;
  const load = (id: string): unknown => {
    if (id.startsWith("./")) beforeOthers();
    return require(id);
  };
  script.runInThisContext()(module.exports, load, module);
  module.loaded = true;
  return module.exports;
}

const opening = Buffer.from("(function (exports, require, module) {");
const closing = Buffer.from("\n})");

/** @returns undefined where nothing whole is kept of this very program, or others could have written it. */
function codeOf(source: Buffer, kept: string): Buffer | undefined {
  try {
    assertOwnParts(dirname(kept), [basename(kept)]);
    const bytes = readFileSync(kept);
    const middle = (source.length + bytes.length) / 2;
    const code = bytes.subarray(source.length, middle);
    const isWhole = source.equals(bytes.subarray(0, source.length)) && code.equals(bytes.subarray(middle));
    return isWhole ? code : undefined;
  } catch {
    return undefined;
  }
}

function keep(path: string, bytes: Buffer): void {
  const half = `${path}.${process.pid}.tmp`;
  try {
    writeFileSync(half, bytes, { flag: "wx", mode: 0o600, flush: true });
    renameSync(half, path);
  } catch {
    discard(half);
  }
}

/** What can't be written or replaced can mostly not be removed either, and none of that is the caller's concern. */
function discard(path: string): void {
  try {
    rmSync(path, { force: true });
  } catch {
    // The disk is full, or another tool reads the file on Windows.
  }
}
