// `node scripts/newDatabaseVersion.ts`: after a migration was added, writes the database of the version that it makes, out of
// the one before. Rows of tables and columns that are new are to be added to the file by hand.
import { mkdtemp, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { migrations } from "../src/service/store/migrations.ts";
import { databaseFile, openDatabase } from "../src/service/store/openDatabase.ts";
import { buildVersion, dumpDatabase, versionFile } from "../test/service/store/versionFile.ts";
import { sayToStandardError } from "./say.ts";

const [version = 0, before = 0] = [...migrations.keys()].toReversed();
const folder = await mkdtemp(join(tmpdir(), "pipeline-runs-version-"));
try {
  const file = databaseFile(folder);
  buildVersion(before, file);
  await (await openDatabase(folder)).destroy();
  await writeFile(versionFile(version), dumpDatabase(file), { flag: "wx" });
  sayToStandardError(`Written: ${versionFile(version)}`);
} finally {
  await rm(folder, { recursive: true, force: true });
}
