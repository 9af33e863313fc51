import assert from "node:assert/strict";
import { existsSync } from "node:fs";
import { mkdir, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { pathToFileURL } from "node:url";
import { execa } from "execa";
import { readCommit } from "../../src/project/commit.ts";
import { temporaryFolder } from "../temporaryFolder.ts";

const never = new AbortController().signal;

describe("the commit that a folder is at", function () {
  this.timeout(60_000);
  if (process.platform === "win32") return;
  const folder = temporaryFolder();
  const author = ["-c", "user.name=Ada", "-c", "user.email=ada@example.com"];
  const git = (...words: string[]) => execa("git", [...author, ...words], { cwd: folder.path });

  beforeEach(async () => {
    await git("init", "-q", "-b", "main");
    await mkdir(join(folder.path, "shop"));
    await writeFile(join(folder.path, "shop", "list"), "any line\n".repeat(100));
    await git("add", ".");
    await git("commit", "-q", "-m", "first");
  });

  it("is that of the folder also in a git hook, which is told of its own repository", async () => {
    const id = (await git("rev-parse", "HEAD")).stdout;
    const shop = join(folder.path, "shop");
    const unchanged = { id, branch: "main", changed: false };
    // As in a worktree, or as in a repository elsewhere.
    for (const name of [join(folder.path, ".git"), join(folder.path, "elsewhere")]) {
      const hook = { ...process.env, GIT_DIR: name, GIT_INDEX_FILE: join(name, "index") };
      assert.deepEqual(await readCommit(shop, hook, never), unchanged);
    }
  });

  it("is read without what a repository lacks, which a program of its settings would fetch", async () => {
    await git("config", "uploadpack.allowFilter", "true");
    const clone = join(folder.path, "clone");
    const marker = join(folder.path, "fetched");
    await git("clone", "-q", "-n", "--filter=blob:none", pathToFileURL(folder.path).href, clone);
    await git("-C", clone, "config", "remote.origin.uploadpack", `touch '${marker}'; git-upload-pack`);
    await writeFile(join(clone, "renamed"), "any line\n".repeat(99));
    await git("-C", clone, "add", "renamed");
    assert.equal((await readCommit(clone, process.env, never))?.changed, true);
    assert.equal(existsSync(marker), false);
  });
});
