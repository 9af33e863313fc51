import assert from "node:assert/strict";
import { chmod, lstat, readdir } from "node:fs/promises";
import { createServer } from "node:http";
import type { AddressInfo } from "node:net";
import { join, relative } from "node:path";
import { execa } from "execa";
import { itOn } from "../itOn.ts";
import { toolPath } from "../service/programs.ts";
import { World } from "./world.ts";

/** What others than the user may do with a file or a folder, and its path, for each where that is anything. */
async function openToOthers(folder: string): Promise<string[]> {
  const found: string[] = [];
  for (const entry of await readdir(folder, { recursive: true, withFileTypes: true })) {
    const path = join(entry.parentPath, entry.name);
    const { mode } = await lstat(path);
    if ((mode & 0o077) !== 0) found.push(`${(mode & 0o777).toString(8)} ${relative(folder, path)}`);
  }
  return found.sort();
}

describe("what is written", function () {
  this.timeout(240_000);
  let world: World;
  beforeEach(async () => {
    world = await World.make();
  });
  afterEach(() => world?.[Symbol.asyncDispose]());

  /** The tool under a mask that takes nothing away, so that every mode is as the program asked for it. */
  const openly = async (args: readonly string[], options: { input?: string; env?: object } = {}) => {
    const script = 'umask 0; exec "$0" "$@"';
    const { exitCode, stderr, stdout } = await execa(
      "sh",
      ["-c", script, process.execPath, toolPath, ...args],
      {
        cwd: world.project,
        env: { ...world.env, ...options.env },
        extendEnv: false,
        reject: false,
        ...(options.input === undefined ? { stdin: "ignore" as const } : { input: options.input }),
      },
    );
    return { exitCode, said: `${stdout}\n${stderr}` };
  };

  itOn(
    "posix",
    "is for its user's eyes only, under any umask, also in a folder that others may read",
    async () => {
      const server = createServer((_, response) => response.end("body"));
      await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
      const { port } = server.address() as AddressInfo;
      await world.pipeline(
        "keeps",
        `resources:\n  shell: { type: cli }\n  web: { type: http, base-url: "http://127.0.0.1:${port}" }\nsteps:\n  - { use: web, get: / }\n  - { use: shell, run: echo said }\n`,
      );
      try {
        for (const args of [
          ["run", "keeps"],
          ["keys", "create", "--role", "member", "--org", "A"],
        ]) {
          const { exitCode, said } = await openly(args);
          assert.equal(exitCode, 0, said);
        }
        const kept = join(world.data, "backup.db");
        assert.equal((await openly(["backup", kept])).exitCode, 0);
        const { url } = JSON.parse((await openly(["page", "--json"])).said.split("\n")[0] ?? "");
        const key = JSON.parse(
          (await openly(["keys", "create", "--role", "member", "--org", "A", "--json"])).said.split(
            "\n",
          )[0] ?? "",
        )["api-key"];
        const login = await openly(["login", new URL(url).origin], { input: `${key}\n` });
        assert.equal(login.exitCode, 0, login.said);
      } finally {
        server.closeAllConnections();
        await new Promise((resolve) => server.close(resolve));
      }
      for (const name of ["data", "config", "cache", "tmp"]) {
        const folder = join(world.path, name);
        assert.deepEqual(await openToOthers(folder), [], name);
        if (name !== "tmp") assert.equal((await lstat(folder)).mode & 0o077, 0, name);
      }
      const names = await readdir(world.data, { recursive: true });
      for (const name of ["service.json", "service.log", "runs.db", "backup.db"])
        assert.ok(names.includes(name), name);
      assert.ok(names.some((name) => name.endsWith("log.ndjson")));
      assert.ok(names.some((name) => /artifacts\/./.test(name)));
      await chmod(world.data, 0o755);
      assert.deepEqual(await openToOthers(world.data), []);
    },
  );
});
