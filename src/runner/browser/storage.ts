import { basename, dirname, join } from "node:path";
import type { BrowserContext } from "playwright-core";
import { describeError } from "../../contract/errors.ts";
import { replaceFile } from "../../machine/privateFile.ts";
import { projectFile, realPlace } from "../step/projectFile.ts";
import { type StepContext, StepFault } from "../step/stepContext.ts";
import { DeadlineExceeded, type StepDeadline } from "./deadline.ts";
import type { StartedBrowser } from "./startBrowser.ts";

/**
 * Puts the cookies and local storage of a file of the project into a browser.
 * @throws StepFault when it can't.
 */
export async function loadStorage(context: BrowserContext, root: string, file: string): Promise<void> {
  const place = await projectFile(root, file).catch((error: unknown) => {
    throw new StepFault(`${describeError(error)}; a step's \`storage\` saves such a file`);
  });
  try {
    await context.setStorageState(place);
  } catch {
    // The library's message may hold a piece of the file, and so a secret.
    throw new StepFault(
      `\`${file}\` has no cookies and local storage as a step's \`storage\` saves them: let a step save it anew`,
    );
  }
}

/**
 * Saves a browser's cookies and local storage in a file that only this user can read. A link of that name is replaced.
 * @returns the problem, if there is one.
 */
export async function saveStorage(
  file: string,
  { context }: StartedBrowser,
  deadline: StepDeadline,
  { root, log }: StepContext,
): Promise<string[]> {
  try {
    const place = join(await realPlace(root, dirname(file)), basename(file));
    const state = await deadline.forScreenshot().within(context.storageState());
    await replaceFile(place, JSON.stringify(state, undefined, 2), 0o600);
    log.note(`saved cookies and local storage in ${file}`);
    return [];
  } catch (error) {
    const why = error instanceof DeadlineExceeded ? "the page didn't respond" : describeError(error);
    return [`cookies and local storage can't be saved in \`${file}\`: ${why}`];
  }
}
