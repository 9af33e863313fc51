import assert from "node:assert/strict";
import { spawnSync } from "node:child_process";
import { open, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { text } from "node:stream/consumers";
import { execa } from "execa";
import { longestLine, messageLines } from "../../../src/cli/mcp/serveMcp.ts";
import { toolbox } from "../toolbox.ts";

const ping = '{"jsonrpc":"2.0","id":"last","method":"ping"}';
const tooLong = `{"jsonrpc":"2.0","id":1,"method":"${"x".repeat(longestLine)}"}`;

/** What is passed on of a client's text, sent in such pieces, and the answers. */
async function lines(input: string, pieceBytes = input.length) {
  const answers: { id: unknown; code: number }[] = [];
  const passed = messageLines((json) => {
    const { id, error } = JSON.parse(json);
    answers.push({ id, code: error.code });
  });
  const read = text(passed);
  const bytes = Buffer.from(input);
  for (let from = 0; from < bytes.length; from += pieceBytes) {
    passed.write(bytes.subarray(from, from + pieceBytes));
  }
  passed.end();
  return { passed: await read, answers };
}

describe("a line to `pipeline mcp`", () => {
  it("is passed on where it is a message, also in pieces within a character", async () => {
    const input = `${ping}\n\n{"jsonrpc":"2.0","method":"notifications/ä","params":{}}\r\n`;
    for (const pieceBytes of [1, 7, input.length * 2]) {
      assert.deepEqual(await lines(input, pieceBytes), { passed: input, answers: [] });
    }
  });

  const wrong: Readonly<Record<string, readonly [string, unknown, number]>> = {
    "whose method is a number": ['{"jsonrpc":"2.0","id":7,"method":5}', 7, -32600],
    "whose params are null": ['{"jsonrpc":"2.0","id":"a","method":"ping","params":null}', "a", -32600],
    "of another version": ['{"jsonrpc":"1.0","id":7,"method":"ping"}', 7, -32600],
    "that is a batch": [`[${ping}]`, null, -32600],
    "that is a number": ["5", null, -32600],
    "that is no JSON": ["{", null, -32700],
    "that is too long": [tooLong, null, -32600],
  };
  for (const [what, [line, id, code]] of Object.entries(wrong)) {
    it(`${what} is answered with an error, and the next is read`, async () => {
      const { passed, answers } = await lines(`${line}\n${ping}\n`, 1_000_000);
      assert.deepEqual({ passed, answers }, { passed: `${ping}\n`, answers: [{ id, code }] });
    });
  }

  it("that is too long doesn't end it", async () => {
    await using box = await toolbox();
    const mcp = execa(process.execPath, [box.path, "mcp"], { cwd: box.project, env: box.env, reject: false });
    mcp.stdin.write(`${tooLong}\n${ping}\n`);
    const answers: unknown[] = [];
    for await (const line of mcp) {
      answers.push(JSON.parse(line).id);
      if (answers.length === 2) mcp.stdin.end();
    }
    assert.deepEqual([answers, (await mcp).exitCode], [[null, "last"], 0]);
  });

  it("that stands in a file is answered, and the file's end ends it", async () => {
    await using box = await toolbox();
    const path = join(box.project, "lines");
    await writeFile(path, `${ping}\n`);
    await using file = await open(path);
    const { stdout, stderr, status } = spawnSync(process.execPath, [box.path, "mcp"], {
      cwd: box.project,
      env: { ...process.env, ...box.env },
      stdio: [file.fd, "pipe", "pipe"],
      encoding: "utf8",
    });
    assert.deepEqual([JSON.parse(stdout).id, stderr, status], ["last", "", 0]);
  });
});
