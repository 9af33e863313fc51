import assert from "node:assert/strict";
import { chmod, chown, lchown, mkdir, stat, symlink, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { connectionFile, readConnection } from "../../src/machine/connectionFile.ts";
import { prepareDataFolder } from "../../src/machine/dataFolder.ts";
import { itOn } from "../itOn.ts";
import { TemporaryFolder } from "../temporaryFolder.ts";

const user = 12_345;
const other = 65_534;

/** Runs with another user's number, by which the system would decide in a process of that user. */
async function asUser(act: () => Promise<void>): Promise<void> {
  const { getuid } = process;
  process.getuid = () => user;
  try {
    await act();
  } finally {
    if (getuid !== undefined) process.getuid = getuid;
  }
}

describe("the data folder", () => {
  const connection = { url: "http://127.0.0.1:1", pid: 1, token: "t", instance: "i" };

  it("is made for this user's eyes only", async () => {
    await using there = await TemporaryFolder.make();
    const folder = join(there.path, "data");
    await prepareDataFolder(folder, "refused");
    const { mode } = await stat(folder);
    if (process.platform !== "win32") assert.equal(mode & 0o777, 0o700);
  });

  itOn(
    "posix",
    "that is there is left as readable as it is, but nobody else may write to it any more",
    async () => {
      await using there = await TemporaryFolder.make();
      for (const [before, after] of [
        [0o755, 0o755],
        [0o777, 0o755],
        [0o1777, 0o1755],
        [0o770, 0o750],
      ] as const) {
        await chmod(there.path, before);
        await prepareDataFolder(there.path, "refused");
        assert.equal((await stat(there.path)).mode & 0o7777, after);
      }
    },
  );

  itOn("posix", "is no file or device, and none that all users share: each stays as it is", async () => {
    await using there = await TemporaryFolder.make();
    await chmod(there.path, 0o1777);
    const file = join(there.path, "file");
    await writeFile(file, "");
    await chmod(file, 0o666);
    const before = process.env["TMPDIR"];
    process.env["TMPDIR"] = there.path;
    try {
      for (const [path, said, mode] of [
        [there.path, /is one that all users of this machine share/, 0o1777],
        [file, /is no folder/, 0o666],
      ] as const) {
        await assert.rejects(prepareDataFolder(path, "refused"), said);
        assert.equal((await stat(path)).mode & 0o7777, mode);
      }
    } finally {
      if (before === undefined) delete process.env["TMPDIR"];
      else process.env["TMPDIR"] = before;
    }
  });

  itOn("posix", "hands over no connection that others could have written", async () => {
    await using there = await TemporaryFolder.make();
    const file = connectionFile(there.path);
    await writeFile(file, JSON.stringify(connection), { mode: 0o600 });
    assert.equal((await readConnection(there.path))?.token, "t");
    await chmod(file, 0o666);
    assert.equal(await readConnection(there.path), undefined);
  });

  // Only root can make what is another user's.
  if (process.getuid?.() === 0) {
    it("of another user is refused, and so is one in which another has put something", async () => {
      await using there = await TemporaryFolder.make();
      await asUser(async () => {
        const [theirs, mixed] = ["theirs", "mixed"].map((name) => join(there.path, name)) as [string, string];
        await mkdir(theirs, { mode: 0o777 });
        await chown(theirs, other, other);
        await assert.rejects(
          prepareDataFolder(theirs, "refused"),
          /The data folder .* belongs to another user/,
        );
        await mkdir(mixed);
        await chown(mixed, user, user);
        await prepareDataFolder(mixed, "refused");
        await symlink("/etc/passwd", join(mixed, "service.log"));
        await prepareDataFolder(mixed, "refused");
        await lchown(join(mixed, "service.log"), other, other);
        await assert.rejects(prepareDataFolder(mixed, "refused"), /service\.log belongs to another user/);
      });
    });

    it("that a call by sudo left to root says whose it is, and how it becomes one's own", async () => {
      await using there = await TemporaryFolder.make();
      const folder = join(there.path, "of-root");
      await mkdir(folder, { mode: 0o700 });
      await chmod(there.path, 0o755);
      await asUser(async () => {
        process.seteuid?.(user);
        try {
          await assert.rejects(prepareDataFolder(folder, "refused"), {
            message: `The data folder ${folder} belongs to root, as a call by sudo leaves it.`,
            next: new RegExp(`sudo chown -R ${user} .*PIPELINE_DATA_DIR`),
          });
        } finally {
          process.seteuid?.(0);
        }
      });
    });

    it("of another user is refused to root too, which is told what to do, and is root's when it says so", async () => {
      await using there = await TemporaryFolder.make();
      const folder = join(there.path, "theirs");
      await mkdir(folder);
      await writeFile(join(folder, "runs.db"), "");
      await prepareDataFolder(folder, "refused");
      for (const path of [folder, join(folder, "runs.db")]) await chown(path, other, other);
      await assert.rejects(prepareDataFolder(folder, "refused"), {
        message: `The data folder ${folder} belongs to another user (number ${other}).`,
        next: /sudo -u '#65534'.*--data-dir.*pipeline serve --allow-other-owner/,
      });
      await prepareDataFolder(folder, "allowed");
      // Whose files are neither root's nor the owner's is refused all the same.
      await chown(join(folder, "runs.db"), user, user);
      await assert.rejects(prepareDataFolder(folder, "allowed"), /runs\.db belongs to another user/);
      await chown(folder, 0, 0);
      await assert.rejects(prepareDataFolder(folder, "refused"), /runs\.db belongs to another user/);
    });

    it("gives no connection of another user's, to root neither, whose environment would go there", async () => {
      await using there = await TemporaryFolder.make();
      const file = connectionFile(there.path);
      await writeFile(file, JSON.stringify(connection), { mode: 0o600 });
      await chown(file, other, other);
      assert.equal(await readConnection(there.path), undefined);
      await asUser(async () => assert.equal(await readConnection(there.path), undefined));
      await chown(file, user, user);
      await asUser(async () => assert.equal((await readConnection(there.path))?.instance, "i"));
    });
  }
});
