import { join } from "node:path";
import { projectRoot } from "../projectRoot.ts";

/** What `npm run package` makes. */
export const vsixFile = join(projectRoot, "pipeline-runs.vsix");
