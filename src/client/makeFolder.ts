import { mkdir } from "node:fs/promises";
import { dirname } from "node:path";

/**
 * Makes a folder for this user's eyes only, and those above it that are missing. One that is there is left as it is.
 * Node's own way with parents never ends below a folder like `/proc`, which is there and takes nothing.
 */
export async function makeFolder(folder: string): Promise<void> {
  const make = () => mkdir(folder, { mode: 0o700 });
  try {
    await make();
  } catch (error) {
    if (codeOf(error) === "EEXIST") return;
    if (codeOf(error) !== "ENOENT" || dirname(folder) === folder) throw error;
    await makeFolder(dirname(folder));
    await make().catch((again: unknown) => {
      // Another process may have been faster.
      if (codeOf(again) !== "EEXIST") throw again;
    });
  }
}

function codeOf(error: unknown): unknown {
  return error instanceof Error && "code" in error ? error.code : undefined;
}
