import assert from "node:assert/strict";
import { existsSync } from "node:fs";
import { chmod, chown, mkdir, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { removeFolder } from "../../../src/team/runnerMachine/machineFolder.ts";
import { unprivilegedUser } from "../../postgres/startedPostgres.ts";
import { temporaryFolder } from "../../temporaryFolder.ts";

describe("the removal of a folder that steps have written into", () => {
  if (process.platform === "win32") return;
  const folder = temporaryFolder();
  const logged: string[] = [];
  const remove = (path: string) => removeFolder(path, (_, message) => void logged.push(message));
  beforeEach(() => {
    logged.length = 0;
  });

  /** What no permission binds is no test of one: root removes as another user. */
  async function unprivileged(paths: readonly string[], act: () => Promise<void>): Promise<void> {
    const user = unprivilegedUser();
    if (user === undefined) return act();
    for (const path of [folder.path, ...paths]) await chown(path, user.uid, user.gid);
    process.seteuid?.(user.uid);
    try {
      await act();
    } finally {
      process.seteuid?.(0);
    }
  }

  it("also takes read-only folders, and what is in them", async () => {
    const run = join(folder.path, "run");
    const inner = join(run, "mod/inner");
    await mkdir(inner, { recursive: true });
    await writeFile(join(inner, "file"), "");
    for (const path of [inner, join(run, "mod")]) await chmod(path, 0o555);
    await unprivileged([run, join(run, "mod"), inner, join(inner, "file")], () => remove(run));
    assert.equal(existsSync(run), false);
    assert.deepEqual(logged, []);
  });

  it("is logged where it can't be had, and fails nothing", async () => {
    const run = join(folder.path, "run");
    await mkdir(run);
    await chmod(folder.path, 0o555);
    await unprivileged([run], () => remove(run));
    await chmod(folder.path, 0o755);
    assert.equal(existsSync(run), true);
    assert.deepEqual(logged, ["a folder can't be removed"]);
  });

  it("has nothing to do where there is no folder", async () => {
    await remove(join(folder.path, "none"));
    assert.deepEqual(logged, []);
  });
});
