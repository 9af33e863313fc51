import { globSync, readFileSync } from "node:fs";
import { join } from "node:path";
import * as z from "zod/mini";
import manifest from "../../package.json" with { type: "json" };

const root = join(import.meta.dirname, "../..");

const textsSchema = z.record(z.string(), z.string());

/** The text of a file of the project. */
export function textOf(file: string): string {
  return readFileSync(join(root, file), "utf8");
}

/** A file of texts in one language, by their keys. */
export function textsOf(file: string): Readonly<Record<string, string>> {
  return textsSchema.parse(JSON.parse(textOf(file)));
}

/** The project's files that match, with forward slashes. */
export function filesLike(pattern: string): string[] {
  return globSync(pattern, { cwd: root })
    .map((file) => file.replaceAll("\\", "/"))
    .sort();
}

/** Every source file of the extension, and the texts that it shares with the tool, by its path, without its comments. */
export const extensionSources: ReadonlyMap<string, string> = new Map(
  [...filesLike("src/extension/**/*.ts"), ...filesLike("src/text/*.ts")].map((file) => [
    file,
    textOf(file).replaceAll(/\/\*\*[\s\S]*?\*\/|^\s*\/\/.*$/gm, ""),
  ]),
);

/** Every value that stands under a name, wherever it is in the manifest. */
export function valuesOf(name: string, value: unknown = manifest.contributes): unknown[] {
  if (typeof value !== "object" || value === null) return [];
  return Object.entries(value).flatMap(([key, item]) => [
    ...(key === name ? [item] : []),
    ...valuesOf(name, item),
  ]);
}

export const stringsOf = (name: string) => valuesOf(name).filter((value) => typeof value === "string");
