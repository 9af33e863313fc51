import { createHash, randomUUID } from "node:crypto";
import { cp, mkdir, readdir, readFile, rename, rm } from "node:fs/promises";
import { dirname, join } from "node:path";
import { type EditorHost, installVsix } from "../../../scripts/editor/installHost.ts";
import { projectRoot } from "../../../scripts/projectRoot.ts";
import { isAlive } from "../../isAlive.ts";

const kept = join(projectRoot, "test/editor/host/installed");

/**
 * Puts a packaged extension into a data folder as VS Code installs it. VS Code itself does so for the first window of a
 * package; the others get a copy of what it made, which takes a tenth of the time.
 * @throws Problem with what VS Code said, when it refuses the package.
 */
export async function installedOnce(
  host: EditorHost,
  dataFolder: string,
  vsix: string,
  signal: AbortSignal,
): Promise<void> {
  const content = createHash("sha256").update(await readFile(vsix));
  const name = content.update(host.version).digest("hex");
  const found = join(kept, name);
  if (!(await names(kept)).includes(name)) {
    // Several files begin at once: each makes its own, and the first to be ready is kept.
    const making = join(kept, `${process.pid}-${randomUUID()}`);
    await mkdir(dirname(making), { recursive: true });
    try {
      await installVsix(host, making, vsix, signal);
      await rename(making, found).catch((error: NodeJS.ErrnoException) => {
        if (error.code !== "ENOTEMPTY" && error.code !== "EEXIST") throw error;
      });
    } finally {
      await rm(making, { recursive: true, force: true });
    }
    await removeOthers(name);
  }
  await cp(join(found, "extensions"), join(dataFolder, "extensions"), { recursive: true });
}

/** What is of an earlier package, or of a process that ended before it was ready. */
async function removeOthers(name: string): Promise<void> {
  for (const other of await names(kept)) {
    const [pid = ""] = other.split("-");
    if (other === name || (other !== pid && isAlive(Number(pid)))) continue;
    await rm(join(kept, other), { recursive: true, force: true });
  }
}

async function names(folder: string): Promise<string[]> {
  return readdir(folder).catch(() => []);
}
