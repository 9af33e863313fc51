import { realpath, stat } from "node:fs/promises";
import { join } from "node:path";
import { describeError } from "../../contract/errors.ts";
import { isInside } from "../../project/envFile.ts";
import { StepFault } from "./stepContext.ts";

/**
 * The plain file of the project that a step names, without links.
 * @param path relative to the project's folder.
 * @throws StepFault when it isn't there, is none, or is a link out of the folder.
 */
export async function projectFile(root: string, path: string): Promise<string> {
  try {
    const [folder, file] = await Promise.all([realpath(root), realpath(join(root, path))]);
    if (!isInside(folder, file))
      throw new StepFault(`\`${path}\` leads out of the project's folder: put the file itself there`);
    if (!(await stat(file)).isFile()) throw new StepFault(`\`${path}\` is no file`);
    return file;
  } catch (error) {
    if (error instanceof StepFault) throw error;
    const code = error instanceof Error && "code" in error ? error.code : undefined;
    throw new StepFault(
      code === "ENOENT" || code === "ENOTDIR"
        ? `\`${path}\` isn't in the project's folder, ${root}`
        : `\`${path}\` can't be read: ${describeError(error)}`,
    );
  }
}
