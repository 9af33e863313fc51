import { rename, rm, writeFile } from "node:fs/promises";
import { basename, dirname, join } from "node:path";
import type { BrowserContext } from "playwright-core";
import { freshName } from "../../machine/privateFile.ts";
import { findProjectFile, realPlace } from "../../project/projectFile.ts";

/**
 * Puts the cookies and local storage of a file of the project into a browser.
 * @throws Error whose message, for people, says why it can't.
 */
export async function loadStorage(context: BrowserContext, root: string, file: string): Promise<void> {
  const place = await findProjectFile(root, file).catch((error: Error) => {
    throw new Error(`${error.message}; a step's \`storage\` saves such a file`, { cause: error });
  });
  try {
    await context.setStorageState(place);
  } catch {
    // The library's message may hold a piece of the file, and so a secret.
    throw new Error(
      `\`${file}\` has no cookies and local storage as a step's \`storage\` saves them: let a step save it anew`,
    );
  }
}

/**
 * Saves a browser's cookies and local storage in a file that only this user can read. A link of that name is replaced.
 * @throws Error whose message, for people, says why it can't.
 */
export async function saveStorage(context: BrowserContext, root: string, file: string): Promise<void> {
  const place = join(await realPlace(root, dirname(file)), basename(file));
  const fresh = freshName(place);
  try {
    await writeFile(fresh, JSON.stringify(await context.storageState(), undefined, 2), {
      mode: 0o600,
      flag: "wx",
    });
    await rename(fresh, place);
  } catch (error) {
    await rm(fresh, { force: true });
    throw error;
  }
}
