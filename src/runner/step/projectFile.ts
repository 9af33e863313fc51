import { describeError } from "../../contract/errors.ts";
import { findProjectFile } from "../../project/projectFile.ts";
import { StepFault } from "./stepContext.ts";

/** As `findProjectFile`, for a step that fails where its file can't be used. @throws StepFault */
export async function projectFile(root: string, path: string): Promise<string> {
  try {
    return await findProjectFile(root, path);
  } catch (error) {
    throw new StepFault(describeError(error));
  }
}
