import assert from "node:assert/strict";
import { readFile, stat, writeFile } from "node:fs/promises";
import { basename, isAbsolute, join } from "node:path";
import { execa } from "execa";
import * as z from "zod/mini";
import { toolbox } from "./toolbox.ts";

/** What the tool has loaded by its end: Node's own modules, of which only Node itself knows, and files of the tool's. */
const recorder = `process.once("exit", () => {
  const files = Object.keys(require.cache).filter((file) => file !== __filename);
  require("node:fs").writeFileSync(process.env.LOADED, JSON.stringify([...process.moduleLoadList, ...files]));
});`;

async function loadedBy(box: Awaited<ReturnType<typeof toolbox>>, words: readonly string[]) {
  const [script, loaded] = [join(box.data, "recorder.cjs"), join(box.data, "loaded.json")];
  await writeFile(script, recorder);
  await execa(process.execPath, ["--require", script, box.path, ...words], {
    env: { ...box.env, LOADED: loaded },
    cwd: box.project,
  });
  return z.array(z.string()).parse(JSON.parse(await readFile(loaded, "utf8")));
}

/** They take long to load: some as long as all that the tool itself has to do. */
const slow = [
  "internal/deps/undici/undici",
  "internal/webstreams/readablestream",
  "tls",
  "crypto",
  "child_process",
];

describe("the start of the tool", () => {
  it("loads nothing of Node's that asking this machine's service doesn't need", async () => {
    await using box = await toolbox();
    await box.run(["org"]);
    const names = await loadedBy(box, ["org"]);
    assert.ok(names.includes("NativeModule http"), "it asks by node:http");
    assert.deepEqual(
      [...slow, "zlib"].filter((name) => names.includes(`NativeModule ${name}`)),
      [],
    );
  });

  it("reads one file behind its entry, of tens of kilobytes, to ask for what scripts ask for", async () => {
    await using box = await toolbox();
    await box.run(["org"]);
    for (const words of [["org"], ["--json", "org"], ["runs", "list", "-q"]]) {
      const files = (await loadedBy(box, words)).filter((name) => isAbsolute(name));
      assert.deepEqual(
        files.map((file) => basename(file)),
        ["cli.cjs", "tool.cjs"],
        words.join(" "),
      );
      for (const file of files) assert((await stat(file)).size < 110 * 1024, file);
    }
  });

  it("doesn't pass for done when nothing comes of what it waits for", async () => {
    await using box = await toolbox();
    await box.run(["org"]);
    const silent = join(box.data, "silent.cjs");
    await writeFile(
      silent,
      `const { Duplex } = require("node:stream");
      const createConnection = () => new Duplex({ read() {}, write: (_, __, written) => written() });
      require("node:http").Agent.prototype.createConnection = createConnection;
      globalThis.setTimeout = () => undefined;`,
    );
    const { exitCode, stdout } = await execa(process.execPath, ["--require", silent, box.path, "org"], {
      env: box.env,
      reject: false,
    });
    assert.deepEqual([exitCode, stdout], [13, ""]);
  });

  it("loads nothing that can ask for a version or a help", async () => {
    await using box = await toolbox();
    for (const words of [["--version"], ["--help"], ["org", "--help"]]) {
      const names = await loadedBy(box, words);
      assert.deepEqual(
        [...slow, "http"].filter((name) => names.includes(`NativeModule ${name}`)),
        [],
        words.join(" "),
      );
    }
  });
});
