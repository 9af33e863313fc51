import { join } from "node:path";
import { projectRoot } from "../../scripts/projectRoot.ts";

/** Where programs that tests start from their sources keep them compiled: without it each takes half as long again. */
export const compiledFolder = join(projectRoot, "node_modules/.cache/pipeline-runs/compiled");
