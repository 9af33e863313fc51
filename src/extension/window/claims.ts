import { hash } from "node:crypto";
import { open, readdir, rm, stat } from "node:fs/promises";
import { join } from "node:path";
import { makeFolder } from "../../machine/dataFolder.ts";
import { codeOf } from "../../project/systemErrors.ts";

/** Decides which of a user's windows does what only one should do, such as announcing the end of a run. */
export interface Claims {
  /**
   * Whether the caller is the first window in 7 days to claim the name, such as `ended/run_1`. Never rejects: true if no claim
   * can be stored, since announcing twice is better than never.
   */
  claim(name: string): Promise<boolean>;
}

/** In milliseconds: longer than a window stays open with a notification unseen. */
const claimLifetime = 7 * 86_400_000;

/** Stores claims as files, each created exclusively, so that a window that crashes leaves no lock. */
export class FileClaims implements Claims {
  readonly #folder: string;
  #tidied: Promise<void> | undefined;

  /** @param folder the extension's own folder, the same for all windows of this user on this machine. */
  constructor(folder: string) {
    this.#folder = join(folder, "claims");
  }

  async claim(name: string): Promise<boolean> {
    try {
      await makeFolder(this.#folder);
      // Old claims that can't be removed do no harm.
      this.#tidied ??= this.#tidy().catch(() => undefined);
      await this.#tidied;
      await (await open(this.#fileOf(name), "wx", 0o600)).close();
      return true;
    } catch (error) {
      return codeOf(error) !== "EEXIST";
    }
  }

  /** The name may come from a service, so it isn't used as a file name. */
  #fileOf(name: string): string {
    return join(this.#folder, hash("sha256", name));
  }

  /** Removes expired claims; runs once per window. */
  async #tidy(): Promise<void> {
    const oldest = Date.now() - claimLifetime;
    for (const name of await readdir(this.#folder)) {
      const file = join(this.#folder, name);
      // Another window may tidy at the same time.
      const claimed = await stat(file).catch(() => undefined);
      if (claimed !== undefined && claimed.mtimeMs < oldest) await rm(file, { force: true });
    }
  }
}
