import assert from "node:assert/strict";
import { spawn } from "node:child_process";
import { once } from "node:events";
import { open, readFile, stat } from "node:fs/promises";
import { join } from "node:path";
import { text } from "node:stream/consumers";
import { pathToFileURL } from "node:url";
import { itOn } from "../itOn.ts";
import { TemporaryFolder } from "../temporaryFolder.ts";

const module = pathToFileURL(join(import.meta.dirname, "../../src/machine/log.ts")).href;

/** A program whose standard error is a file, as a face starts the service, and that logs so many numbered lines. */
async function logging(file: string, count: number, atMost: number): Promise<void> {
  const code = [
    `import { boundedLog } from ${JSON.stringify(module)};`,
    `const log = boundedLog(${JSON.stringify(file)}, ${atMost});`,
    `for (let line = 1; line <= ${count}; line++) log("line " + line + "\\n");`,
    `throw new Error("the last words");`,
  ].join("\n");
  await using handle = await open(file, "a", 0o600);
  const program = spawn(process.execPath, ["--input-type=module", "--eval", code], {
    stdio: ["ignore", "ignore", handle.fd],
  });
  await once(program, "exit");
}

describe("the embedded service's log file", () => {
  it("is begun anew when it has grown too long, the one before kept beside it", async () => {
    await using folder = await TemporaryFolder.make();
    const file = join(folder.path, "service.log");
    await logging(file, 1_000, 4_096);
    const [now, before] = await Promise.all([readFile(file, "utf8"), readFile(`${file}.1`, "utf8")]);
    assert(before.length <= 4_096 && before.length > 3_000, String(before.length));
    const [first] = now.split("\n");
    const last = before.trimEnd().split("\n").at(-1);
    assert.equal(Number(first?.slice("line ".length)), Number(last?.slice("line ".length)) + 1);
    assert.match(now, /\nline 1000\n/);
    // What Node itself says of a crash is in the same file.
    assert.match(now, /Error: the last words/);
  });

  itOn("linux", "that is on a disk which is full ends no service", async () => {
    const code = [
      `import { standardErrorLog } from ${JSON.stringify(module)};`,
      `const log = standardErrorLog();`,
      `for (let line = 1; line <= 10; line++) { log("line\\n"); await new Promise(setImmediate); }`,
      `console.log("still here");`,
    ].join("\n");
    await using full = await open("/dev/full", "w");
    const program = spawn(process.execPath, ["--input-type=module", "--eval", code], {
      stdio: ["ignore", "pipe", full.fd],
    });
    assert(program.stdout !== null);
    const [said] = await Promise.all([text(program.stdout), once(program, "exit")]);
    assert.equal(said, "still here\n");
  });

  it("goes on with what an earlier service has written", async () => {
    await using folder = await TemporaryFolder.make();
    const file = join(folder.path, "service.log");
    await logging(file, 3, 1_000_000);
    await logging(file, 3, 1_000_000);
    assert.equal((await readFile(file, "utf8")).match(/^line 3$/gm)?.length, 2);
    await assert.rejects(stat(`${file}.1`), { code: "ENOENT" });
  });

  itOn("posix", "stays for this user's eyes only, also the one before", async () => {
    await using folder = await TemporaryFolder.make();
    const file = join(folder.path, "service.log");
    await logging(file, 1_000, 4_096);
    for (const path of [file, `${file}.1`]) assert.equal((await stat(path)).mode & 0o777, 0o600);
  });
});
