import { open, rename, rm } from "node:fs/promises";
import { freshName } from "../../machine/privateFile.ts";

/** Writes a file. A reader finds the old one or the new one, and a link of that name is replaced. */
export async function replaceFile(path: string, content: string | Uint8Array): Promise<void> {
  const fresh = freshName(path);
  try {
    const file = await open(fresh, "wx");
    try {
      await file.writeFile(content);
      await file.sync();
    } finally {
      await file.close();
    }
    await rename(fresh, path);
  } catch (error) {
    await rm(fresh, { force: true }).catch(() => undefined);
    throw error;
  }
}
