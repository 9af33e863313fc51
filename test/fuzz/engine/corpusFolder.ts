import { createHash } from "node:crypto";
import { existsSync, mkdirSync, readdirSync, readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { inputOf, keptAs } from "./corpusText.ts";

interface KeptInput {
  /** Of the file, without its folder. */
  readonly name: string;
  readonly input: string;
}

/** The inputs that a folder keeps, by name; none where there is no such folder. */
export function readCorpus(folder: string): readonly KeptInput[] {
  if (!existsSync(folder)) return [];
  return readdirSync(folder)
    .sort()
    .map((name) => ({ name, input: inputOf(name, readFileSync(join(folder, name), "utf8")) }));
}

/** @returns the path of the file. */
export function keepInput(folder: string, input: string): string {
  const { extension, text } = keptAs(input);
  const name = createHash("sha256").update(text).digest("hex").slice(0, 12);
  mkdirSync(folder, { recursive: true });
  const path = join(folder, `${name}${extension}`);
  writeFileSync(path, text);
  return path;
}
