import { realpath, stat } from "node:fs/promises";
import { join } from "node:path";
import { describeError } from "../../contract/errors.ts";
import { isInside } from "../../project/projectFile.ts";
import { isMissing } from "../../project/systemErrors.ts";
import { StepFault } from "./stepContext.ts";

/**
 * The place of a plain file of the project, through links that stay within it.
 * @param path relative to the project's folder, `root`.
 * @throws StepFault when it can't be used.
 */
export async function projectFile(root: string, path: string): Promise<string> {
  const place = await realPlace(root, path);
  if (!(await stat(place)).isFile()) throw new StepFault(`\`${path}\` is no plain file`);
  return place;
}

/** Like `projectFile`, but also for a folder. */
export async function realPlace(root: string, path: string): Promise<string> {
  let place: string;
  try {
    place = await realpath(join(root, path));
  } catch (error) {
    const why = isMissing(error)
      ? `isn't in the project's folder, ${root}`
      : `can't be read: ${describeError(error)}`;
    throw new StepFault(`\`${path}\` ${why}`);
  }
  if (!isInside(await realpath(root), place))
    throw new StepFault(`\`${path}\` leads out of the project's folder, ${root}`);
  return place;
}
