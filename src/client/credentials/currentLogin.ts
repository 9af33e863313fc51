import { lstatSync } from "node:fs";
import { join } from "node:path";

/** The folder of a person's logins (see `LoginFiles`). @param config the folder of the tool's settings. */
export function loginsFolder(config: string): string {
  return join(config, "logins");
}

/** The file that says whose service is used. */
export function currentLoginFile(config: string): string {
  return join(loginsFolder(config), "current.json");
}

/**
 * Whether no login is in use, for certain. Most people have none: then nothing else of logins is loaded. It is looked at once, and
 * at once: to begin waiting takes Node longer than all that a call without a login does here.
 */
export function isLoggedOut(config: string): boolean {
  try {
    return lstatSync(currentLoginFile(config), { throwIfNoEntry: false }) === undefined;
  } catch {
    // Whoever opens it tells why it can't be looked at.
    return false;
  }
}
