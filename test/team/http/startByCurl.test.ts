import assert from "node:assert/strict";
import { spawnSync } from "node:child_process";
import { mkdir, readFile, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { execa } from "execa";
import { projectRoot } from "../../../scripts/projectRoot.ts";
import { postgresFolder } from "../../postgres/installPostgres.ts";
import { databasesForSuite } from "../../postgres/lentDatabases.ts";
import { TemporaryFolder } from "../../temporaryFolder.ts";
import { Team } from "../team.ts";

const programs = ["bash", "curl", "git", "gzip", "jq", "sha256sum", "tar"];

describe("the script of docs/http-api.md, on a service of many machines", () => {
  const native = postgresFolder();
  // Where these programs aren't, nobody can follow the page.
  if (native === undefined || spawnSync("which", programs).status !== 0) return;
  const lend = databasesForSuite(native);

  /** @returns what the script printed, and its exit code. */
  async function follow(run: string) {
    await using team = await Team.make(await lend());
    await team.startRunner();
    await using folder = await TemporaryFolder.make();
    await execa("git", ["init", "-q"], { cwd: folder.path });
    await mkdir(join(folder.path, "pipelines"));
    const text = `resources:\n  shell: { type: cli }\nsteps:\n  - use: shell\n    run: ${run}\n`;
    await writeFile(join(folder.path, "pipelines/hello.yaml"), text);
    await writeFile(join(folder.path, "greeting"), "hello from a file\n");
    const page = await readFile(join(projectRoot, "docs/http-api.md"), "utf8");
    const script = /startByCurl\.test\.ts runs it -->\n+```bash\n(.*?)```/s.exec(page)?.[1];
    assert(script !== undefined);
    const env = { url: team.servers[0]?.url ?? "", PIPELINE_API_KEY: team.memberKey };
    const start = () => execa("bash", ["-c", script], { cwd: folder.path, env, reject: false });
    const ends = [await start(), await start()] as const;
    const { length } = await team.db.selectFrom("snapshots").select("digest").execute();
    assert.equal(length, 1);
    return ends;
  }

  it("starts a run with the project's files, follows it, and sends them once", async () => {
    for (const { stdout, stderr, exitCode } of await follow("cat greeting")) {
      assert.equal(exitCode, 0, stderr);
      assert.match(stdout, /hello from a file/);
    }
  });

  it("ends with 1 for a run that fails", async () => {
    const [{ exitCode, stdout }] = await follow("cat nothing");
    assert.match(stdout, /No such file/);
    assert.equal(exitCode, 1);
  });
});
