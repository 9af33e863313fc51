import { realpath, stat } from "node:fs/promises";
import { join } from "node:path";
import { describeError } from "../contract/errors.ts";
import { isInside } from "./envFile.ts";

/**
 * The place of a plain file of the project, through links that stay within it.
 * @param path relative to the project's folder, `root`.
 * @throws Error whose message, a sentence for people, says why it can't be used.
 */
export async function findProjectFile(root: string, path: string): Promise<string> {
  const place = await realPlace(root, path);
  if (!(await stat(place)).isFile()) throw new Error(`\`${path}\` is no plain file`);
  return place;
}

/** The same of a file or a folder. */
export async function realPlace(root: string, path: string): Promise<string> {
  let place: string;
  try {
    place = await realpath(join(root, path));
  } catch (error) {
    const code = error instanceof Error && "code" in error ? error.code : undefined;
    if (code !== "ENOENT" && code !== "ENOTDIR")
      throw new Error(`\`${path}\` can't be read: ${describeError(error)}`, { cause: error });
    throw new Error(`\`${path}\` isn't in the project's folder, ${root}`, { cause: error });
  }
  if (!isInside(await realpath(root), place))
    throw new Error(`\`${path}\` leads out of the project's folder, ${root}`);
  return place;
}
