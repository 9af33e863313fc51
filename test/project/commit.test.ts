import assert from "node:assert/strict";
import { existsSync } from "node:fs";
import { mkdir, rm, utimes, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { pathToFileURL } from "node:url";
import { execa } from "execa";
import { readCommit } from "../../src/project/commit.ts";
import { temporaryFolder } from "../temporaryFolder.ts";

const never = new AbortController().signal;

describe("the commit that a folder is at", () => {
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
    const marker = join(folder.path, "fetched");
    for (const [filter, changed] of [
      ["blob:none", true],
      ["tree:0", undefined],
    ] as const) {
      const clone = join(folder.path, filter.replace(":", ""));
      await git("clone", "-q", "-n", `--filter=${filter}`, pathToFileURL(folder.path).href, clone);
      await git("-C", clone, "config", "remote.origin.uploadpack", `touch '${marker}'; git-upload-pack`);
      await writeFile(join(clone, "renamed"), "any line\n".repeat(99));
      await git("-C", clone, "add", "renamed");
      assert.equal((await readCommit(clone, process.env, never))?.changed, changed);
    }
    assert.equal(existsSync(marker), false);
  });

  it("is read without a program that the repository's settings name, in a submodule neither", async () => {
    const marker = join(folder.path, ".git", "ran");
    const evil = `touch '${marker}'; cat`;
    const sub = join(folder.path, "sub");
    await git("init", "-q", "-b", "main", sub);
    await git("-C", sub, "commit", "-q", "--allow-empty", "-m", "first");
    await writeFile(join(folder.path, ".gitattributes"), "shop/list filter=e.vil\n");
    await git("add", ".gitattributes", "sub");
    await git("commit", "-q", "-m", "second");
    for (const each of [folder.path, sub]) {
      await git("-C", each, "config", "core.fsmonitor", evil);
      for (const key of ["clean", "smudge", "process"])
        await git("-C", each, "config", `filter.e.vil.${key}`, evil);
      await git("-C", each, "config", "filter.e.vil.required", "true");
    }
    // Git has to read it, to know whether it has changed.
    const later = new Date(Date.now() + 5000);
    await utimes(join(folder.path, "shop", "list"), later, later);
    const read = await readCommit(folder.path, process.env, never);
    assert.equal(existsSync(marker), false);
    assert.deepEqual([read?.branch, read?.changed], ["main", false], "what it holds is the same");
    await assert.rejects(git("status"));
    assert.equal(existsSync(marker), true, "git alone runs it");
    await rm(marker);
    await git("config", "filter.e=vil.clean", evil);
    assert.equal(await readCommit(folder.path, process.env, never), undefined);
    assert.equal(existsSync(marker), false);
  });
});
