import assert from "node:assert/strict";
import { writeFile } from "node:fs/promises";
import { join } from "node:path";
import { execa } from "execa";
import { itOn } from "../itOn.ts";
import { loadedFiles } from "../loadedFiles.ts";
import { programPipeline } from "../service/startedService.ts";
import { servedToolbox, type Toolbox } from "./toolbox.ts";

const loadedBy = (box: Toolbox, words: readonly string[]) =>
  loadedFiles([box.path, ...words], { env: box.env, cwd: box.project });

/** They take long to load: some as long as all that the tool itself has to do. */
const slow = [
  "internal/deps/undici/undici",
  "internal/webstreams/readablestream",
  "internal/fs/promises",
  "tls",
  "crypto",
  "child_process",
];

describe("the start of the tool", () => {
  let box: Awaited<ReturnType<typeof servedToolbox>>;
  before(async () => {
    box = await servedToolbox();
  });
  after(() => box[Symbol.asyncDispose]());

  itOn(
    "linux",
    "says in one sentence that its working folder was removed or can't be named, whatever the command",
    async () => {
      const said = [
        "The working folder was removed, can't be read, or has a name that isn't UTF-8.",
        "Go to another one.",
      ];
      const removed = "mkdir gone && cd gone && rmdir ../gone";
      const unnamed = 'cd "$(mktemp -d "$(printf \'x\\377XXXXXX\')")"';
      const cases = ["run hello", "validate", "org", "mcp", "org --json"].map(
        (line) => [removed, line] as const,
      );
      for (const [go, line] of [...cases, [unnamed, "run hello"] as const]) {
        const script = `${go} && exec "$0" "$1" ${line}`;
        const { exitCode, stdout, stderr } = await execa("sh", ["-c", script, process.execPath, box.path], {
          cwd: box.project,
          env: box.env,
          reject: false,
        });
        assert.equal(exitCode, 2, stderr);
        if (!line.endsWith("--json")) assert.equal(stderr, `pipeline: ${said.join("\n")}`);
        else assert.deepEqual(JSON.parse(stdout).error, { type: "not-found", message: said.join(" ") });
      }
    },
  );

  it("loads nothing of Node's that asking this machine's service doesn't need", async () => {
    const { nodes } = await loadedBy(box, ["org"]);
    assert.ok(nodes.includes("http"), "it asks by node:http");
    assert.deepEqual(
      [...slow, "zlib"].filter((name) => nodes.includes(name)),
      [],
    );
  });

  it("loads nothing for a run that reading folders doesn't need", async () => {
    await box.write("hello", programPipeline(""));
    const { nodes } = await loadedBy(box, ["run", "hello"]);
    assert.ok(!nodes.includes("internal/fs/promises"));
  });

  it("opens standard input only where a command reads it", async () => {
    await box.write("hello", programPipeline(""));
    for (const words of [["org"], ["runs", "list"], ["validate", "hello"], ["run", "hello"]])
      assert.ok(!(await loadedBy(box, words)).isInputOpened, words.join(" "));
  });

  it("reads few files, and of them what the command needs", async () => {
    for (const words of [["org"], ["--json", "org"], ["runs", "list", "-q"]]) {
      const { names, kilobytes } = await loadedBy(box, words);
      assert.ok(names.length <= 5, `${words}: ${names}`);
      assert.ok(kilobytes < 220, `${words}: ${kilobytes} KB`);
      assert.ok(!names.some((name) => /mcp/i.test(name)), `${words}: ${names}`);
    }
  });

  it("reads next to nothing to say its version", async () => {
    for (const word of ["--version", "-V"]) {
      const { names, kilobytes } = await loadedBy(box, [word]);
      assert.ok(names.length <= 2 && kilobytes < 5, `${names}: ${kilobytes} KB`);
    }
  });

  it("doesn't pass for done when nothing comes of what it waits for", async () => {
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
    for (const words of [["--version"], ["--help"], ["org", "--help"]]) {
      const { nodes } = await loadedBy(box, words);
      assert.deepEqual(
        [...slow, "http"].filter((name) => nodes.includes(name)),
        [],
        words.join(" "),
      );
    }
  });
});
