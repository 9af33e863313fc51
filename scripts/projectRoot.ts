import { join, resolve } from "node:path";

/** The folder of this repository, wherever a script is started from. */
export const projectRoot = resolve(import.meta.dirname, "..");

/** What `npm run package` makes. */
export const vsixFile = join(projectRoot, "pipeline-runs.vsix");
