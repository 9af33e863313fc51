import assert from "node:assert/strict";
import { execFileSync } from "node:child_process";
import { readdir, readFile, stat, writeFile } from "node:fs/promises";
import { join } from "node:path";
import type { Message } from "../../../src/runner/launch/messages.ts";
import { Mask } from "../../../src/runner/mask/mask.ts";
import { RunOutput } from "../../../src/runner/step/runOutput.ts";
import { itOn } from "../../itOn.ts";
import { temporaryFolder } from "../../temporaryFolder.ts";
import { quoted } from "../beacon.ts";

const MiB = 1024 * 1024;

describe("the record of a run", () => {
  const folder = temporaryFolder();

  it("keeps what steps hand it, each file once, a text without its secrets", async () => {
    const { record, artifacts, artifactsFolder } = begin(["s3cr3t"]);
    const first = record.step(0);
    first.saveArtifact({ name: "a.txt", mediaType: "text/plain", content: "my s3cr3t, ä" });
    first.saveArtifact({ name: "a.txt", mediaType: "text/plain", content: Buffer.from([0xff]) });
    record.step(1).saveArtifact({ name: "s3cr3t.txt", mediaType: "text/plain", content: "" });
    await record.end();
    assert.deepEqual(
      artifacts().map(({ index, name, file, bytes }) => [index, name, file, bytes]),
      [
        [0, "a.txt", "0-1", 10],
        [0, "a.txt", "0-2", 1],
        [1, "***.txt", "1-1", 0],
      ],
    );
    assert.equal(await readFile(join(artifactsFolder, "0-1"), "utf8"), "my ***, ä");
    assert.deepEqual(await readFile(join(artifactsFolder, "0-2")), Buffer.from([0xff]));
  });

  it("keeps nothing larger than 8 MiB, and of one run no more than 64 MiB, and says so", async () => {
    const { record, artifacts, notes } = begin();
    const step = record.step(0);
    step.saveArtifact({ name: "large.bin", mediaType: "x/y", content: Buffer.alloc(8 * MiB + 1) });
    for (let count = 0; count < 9; count++) {
      step.saveArtifact({ name: `${count}.bin`, mediaType: "x/y", content: Buffer.alloc(8 * MiB) });
    }
    record.step(1).saveArtifact({ name: "small.bin", mediaType: "x/y", content: Buffer.alloc(1) });
    await record.end();
    assert.equal(artifacts().length, 8);
    assert.deepEqual(notes(), [
      "large.bin isn't kept: it has 8388609 bytes, and at most 8388608 are kept of one\n",
      "8.bin isn't kept: a run's artifacts have at most 67108864 bytes\n",
      "small.bin isn't kept: a run's artifacts have at most 67108864 bytes\n",
    ]);
  });

  it("fails no step whose artifact can't be written", async () => {
    const { record, artifacts, notes, artifactsFolder } = begin();
    await writeFile(artifactsFolder, "in the way");
    record.step(0).saveArtifact({ name: "a.txt", mediaType: "text/plain", content: "a" });
    await record.end();
    assert.deepEqual(artifacts(), []);
    assert.match(notes()[0] ?? "", /^a\.txt isn't kept: E/);
    assert.ok((await stat(artifactsFolder)).isFile());
  });

  itOn("posix", "leaves nothing of an artifact that the disk takes only a part of", async () => {
    const save = `
      import { Mask } from ${JSON.stringify(import.meta.resolve("../../../src/runner/mask/mask.ts"))};
      import { RunOutput } from ${JSON.stringify(import.meta.resolve("../../../src/runner/step/runOutput.ts"))};
      const record = new RunOutput({ mask: new Mask([]), artifactsFolder: ".", now: () => new Date(), send: console.log });
      const step = record.step(0);
      step.saveArtifact({ name: "large.bin", mediaType: "x/y", content: Buffer.alloc(5000) });
      step.saveArtifact({ name: "small.bin", mediaType: "x/y", content: Buffer.alloc(5) });
      await record.end();`;
    const node = [process.execPath, "--input-type=module", "--eval", save].map(quoted).join(" ");
    const said = execFileSync("sh", ["-c", `trap '' XFSZ; ulimit -f 1; exec ${node}`], { cwd: folder.path });
    assert.match(String(said), /large\.bin isn't kept: EFBIG/);
    assert.deepEqual(await readdir(folder.path), ["0-2"]);
  });

  it("cuts no letter in two, wherever a long text is cut", async () => {
    const { record, told } = begin();
    const text = `x${"\u{1f600}".repeat(5 * MiB)}`;
    const step = record.step(0);
    step.log.write("stdout", text);
    await record.end();
    const outputs = told.filter((message) => message.kind === "output");
    assert.ok(outputs.length > 10);
    for (const output of outputs) assert.ok(output.text.isWellFormed());
    const said = outputs.filter(({ stream }) => stream === "stdout").map(({ text: piece }) => piece);
    assert.ok(said.join("").endsWith("\u{1f600}"));
    const left = /^… (\d+) bytes/.exec(notesOf(told)[0] ?? "")?.[1];
    assert.equal(Buffer.byteLength(said.join("")) + Number(left), Buffer.byteLength(text));
  });

  function begin(secrets: readonly string[] = []) {
    const told: Message[] = [];
    const artifactsFolder = join(folder.path, "artifacts");
    const record = new RunOutput({
      send: (messages) => told.push(...messages),
      now: () => new Date(),
      mask: new Mask(secrets),
      artifactsFolder,
    });
    return {
      record,
      told,
      artifactsFolder,
      artifacts: () => told.filter((message) => message.kind === "artifact"),
      notes: () => notesOf(told),
    };
  }
});

function notesOf(told: readonly Message[]): string[] {
  return told.flatMap((message) =>
    message.kind === "output" && message.stream === "note" ? [message.text] : [],
  );
}
