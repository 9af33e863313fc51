// `node test/conformance/listRows.ts <folder>`: writes the list of the rows anew from the pages in a folder.
import { writeFile } from "node:fs/promises";
import { keptRows, rowsFile, rowsOf } from "./rows.ts";

const [folder] = process.argv.slice(2);
if (folder === undefined) {
  console.error("Name the folder of the pages: node test/conformance/listRows.ts <folder>");
  process.exit(2);
}
const rows = await rowsOf(folder, keptRows);
await writeFile(rowsFile, `${JSON.stringify(rows, undefined, 2)}\n`);
