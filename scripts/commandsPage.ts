// Writes docs/commands.md, the help of every command, anew.
import { writeFile } from "node:fs/promises";
import { join } from "node:path";
import { commandsPage } from "./build/commandsPage.ts";
import { projectRoot } from "./projectRoot.ts";

await writeFile(join(projectRoot, "docs/commands.md"), commandsPage());
