import assert from "node:assert/strict";
import { once } from "node:events";
import { existsSync } from "node:fs";
import { mkdir, rm, symlink, truncate, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { pathToFileURL } from "node:url";
import { execa } from "execa";
import { list } from "tar";
import { withDefinition } from "../../../src/client/start/definition.ts";
import { TemporaryFolder } from "../../temporaryFolder.ts";

const never = new AbortController().signal;
const mebibyte = 1024 * 1024;
const pipeline = "resources:\n  shell: { type: cli }\nsteps:\n  - use: shell\n    run: echo hello\n";

/** A project in a real repository. */
async function repository() {
  const folder = await TemporaryFolder.make();
  const at = (name: string) => join(folder.path, name);
  const git = (...words: readonly string[]) => execa("git", words, { cwd: folder.path });
  await git("init", "-q");
  await mkdir(at("pipelines"));
  await writeFile(at("pipelines/hello.yaml"), pipeline);
  await writeFile(at(".gitignore"), ".env\n");
  await git("add", ".");
  return {
    at,
    git,
    /** What a start sends: the names of the files. */
    async sent(): Promise<string[]> {
      const names: string[] = [];
      const service = {
        hasSnapshot: async () => false,
        async putSnapshot(_digest: string, content: Uint8Array) {
          const archive = list({ onReadEntry: ({ path }) => names.push(path) });
          const ended = once(archive, "end");
          archive.end(Buffer.from(content));
          await ended;
        },
      };
      await withDefinition({ pipeline: "hello", project: "shop" }, service, folder.path, never);
      return names;
    },
    [Symbol.asyncDispose]: () => folder[Symbol.asyncDispose](),
  };
}

type Repository = Awaited<ReturnType<typeof repository>>;
/** What is done to the project, and which of its files travel besides those that it begins with. */
type Case = readonly [
  title: string,
  change: (project: Repository) => Promise<unknown>,
  more: readonly string[],
];

const cases: readonly Case[] = [
  ["nothing else", async () => {}, []],
  [
    "a tracked file",
    async ({ at, git }) => {
      await writeFile(at("tracked"), "x");
      await git("add", "tracked");
    },
    ["tracked"],
  ],
  ["a new file that isn't ignored", ({ at }) => writeFile(at("new"), "x"), ["new"]],
  ["a name that the archive could take for another one's", ({ at }) => writeFile(at("@new"), "x"), ["@new"]],
  ["an ignored file", ({ at }) => writeFile(at(".env"), "SECRET=x"), []],
  [
    "a tracked file that was deleted",
    async ({ at, git }) => {
      await writeFile(at("gone"), "x");
      await git("add", "gone");
      await rm(at("gone"));
    },
    [],
  ],
  [
    "a submodule",
    async ({ at, git }) => {
      await git("init", "-q", "module");
      await writeFile(at("module/file"), "x");
      const inModule = ["-C", "module", "-c", "user.name=test", "-c", "user.email=test@example.com"];
      await git(...inModule, "add", ".");
      await git(...inModule, "commit", "-q", "-m", "A file");
      await git("add", "module");
    },
    [],
  ],
];

describe("the files of a project that a start sends", () => {
  for (const [title, change, more] of cases) {
    it(`are the right ones: ${title}`, async () => {
      await using project = await repository();
      await change(project);
      const expected = [".gitignore", "pipelines/hello.yaml", ...more].map((name) => `./${name}`);
      assert.deepEqual((await project.sent()).sort(), expected.sort());
    });
  }

  // On Windows not everybody may make a link.
  if (process.platform !== "win32") {
    it("are listed without the program that the repository's settings would have watch them", async () => {
      await using project = await repository();
      await project.git("config", "core.fsmonitor", `touch '${project.at(".git/watched")}'; false`);
      assert.deepEqual((await project.sent()).sort(), ["./.gitignore", "./pipelines/hello.yaml"]);
      assert.equal(existsSync(project.at(".git/watched")), false);
    });

    it("are listed without what the repository lacks, which a program of its settings would fetch", async () => {
      await using project = await repository();
      const { at, git } = project;
      await mkdir(at("lacking"));
      await writeFile(at("lacking/file"), "");
      await git("add", ".");
      await git("-c", "user.name=Ada", "-c", "user.email=ada@example.org", "commit", "-q", "-m", "A folder");
      await git("sparse-checkout", "set", "--cone", "--sparse-index", "pipelines");
      const { stdout: tree } = await git("rev-parse", "HEAD:lacking");
      await rm(at(join(".git/objects", tree.slice(0, 2), tree.slice(2))));
      for (const [name, value] of [
        ["core.repositoryFormatVersion", "1"],
        ["extensions.partialClone", "origin"],
        ["remote.origin.url", pathToFileURL(at(".")).href],
        ["remote.origin.uploadpack", `touch '${at(".git/fetched")}'; git-upload-pack`],
      ] as const)
        await git("config", name, value);
      assert.deepEqual((await project.sent()).sort(), ["./.gitignore", "./pipelines/hello.yaml"]);
      assert.equal(existsSync(at(".git/fetched")), false);
    });

    it("are listed without a program of the project that has git's name, where the PATH has the working folder", async () => {
      await using project = await repository();
      await writeFile(project.at("git"), `#!/bin/sh\ntouch '${project.at(".git/ran")}'\n`, { mode: 0o700 });
      const { PATH = "" } = process.env;
      process.env["PATH"] = `.:${PATH}`;
      try {
        await project.sent();
      } finally {
        process.env["PATH"] = PATH;
      }
      assert.equal(existsSync(project.at(".git/ran")), false);
    });

    it("are no symbolic links", async () => {
      await using project = await repository();
      await symlink("/etc/hostname", project.at("link"));
      await project.git("add", "link");
      assert.deepEqual((await project.sent()).sort(), ["./.gitignore", "./pipelines/hello.yaml"]);
    });
  }

  it("are those of the folder in a git hook, which is told of its own repository", async () => {
    await using project = await repository();
    process.env["GIT_DIR"] = project.at("elsewhere");
    try {
      assert.deepEqual((await project.sent()).sort(), ["./.gitignore", "./pipelines/hello.yaml"]);
    } finally {
      delete process.env["GIT_DIR"];
    }
  });

  it("are none, and no archive, where git knows none", async () => {
    await using project = await repository();
    await project.git("rm", "-q", "-r", "--cached", ".");
    await writeFile(project.at(".gitignore"), "*\n");
    assert.deepEqual(await project.sent(), []);
  });

  it("are refused when they are too much, with what to do", async () => {
    await using project = await repository();
    const next = /\.gitignore, or start the pipeline in a smaller folder/;
    const large = project.at("large");
    await writeFile(large, "");
    await truncate(large, 513 * mebibyte);
    await assert.rejects(project.sent(), { type: "invalid-request", message: /more than 512 MiB/, next });
  });

  it("are refused where git doesn't trust the folder of another user, with the command that git advises", async () => {
    await using project = await repository();
    process.env["GIT_TEST_ASSUME_DIFFERENT_OWNER"] = "1";
    try {
      await assert.rejects(project.sent(), {
        message: /: the folder belongs to another user\.$/,
        next: /`git config --global --add safe\.directory .+`\.$/,
      });
    } finally {
      delete process.env["GIT_TEST_ASSUME_DIFFERENT_OWNER"];
    }
  });

  it("are refused outside a repository, with what to do", async () => {
    await using project = await repository();
    await rm(project.at(".git"), { recursive: true });
    const refusal = { type: "invalid-request", message: /can't be listed by git/, next: /git init/ };
    await assert.rejects(project.sent(), refusal);
  });
});
