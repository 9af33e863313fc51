import { existsSync, watch } from "node:fs";
import { dirname } from "node:path";

/** Resolves once a file is there that another process makes, in a folder that is there already. */
export function whenThere(path: string): Promise<void> {
  return new Promise((resolve) => {
    const look = (): void => {
      if (!existsSync(path)) return;
      watcher.close();
      resolve();
    };
    const watcher = watch(dirname(path), look);
    look();
  });
}
