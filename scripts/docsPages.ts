// Writes the pages of the docs that are made from the code anew.
import { writeFile } from "node:fs/promises";
import { join } from "node:path";
import { docsPages } from "./build/docsPages.ts";
import { projectRoot } from "./projectRoot.ts";

for (const [page, text] of docsPages()) await writeFile(join(projectRoot, "docs", page), text);
