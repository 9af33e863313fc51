import { mkdir, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { programPipeline, untilCancelled, writePid } from "../../service/startedService.ts";
import { TemporaryFolder } from "../../temporaryFolder.ts";

/** A workspace of a test's own: pipelines that end at once, that end only when cancelled, and one that is broken. */
export async function testWorkspace(): Promise<TemporaryFolder> {
  const folder = await TemporaryFolder.make("pipeline-runs-workspace");
  await mkdir(join(folder.path, "pipelines"));
  const write = (name: string, text: string) =>
    writeFile(join(folder.path, "pipelines", `${name}.yaml`), text);
  await write("hello", programPipeline("console.log('hello')"));
  await write("fails", programPipeline("console.log('it is broken'); process.exit(3)"));
  await write("long", programPipeline(`${writePid} ${untilCancelled}`, "10m"));
  await write("broken", "resources:\n  shell: { type: clii }\nsteps:\n  - use: shell\n    run: true\n");
  return folder;
}
