import assert from "node:assert/strict";
import { chmod, readdir, readFile, stat, truncate, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { execa } from "execa";
import { projectRoot } from "../../scripts/projectRoot.ts";
import { itOn } from "../itOn.ts";
import { TemporaryFolder } from "../temporaryFolder.ts";
import { toolbox } from "./toolbox.ts";

const loading = `import { loadKept } from ${JSON.stringify(join(projectRoot, "src/cli/keptCode.ts"))};
const { PROGRAM: program, KEPT: kept } = process.env;
const told = loadKept({ program, kept, beforeOthers: () => console.log("others") });
console.log(told.answer());`;

describe("what is kept of a compiled program", () => {
  let base: TemporaryFolder;
  beforeEach(async () => {
    base = await TemporaryFolder.make();
  });
  afterEach(() => base[Symbol.asyncDispose]());
  const program = () => join(base.path, "program.cjs");
  const kept = () => join(base.path, "kept");
  const write = (answer: string) => writeFile(program(), `exports.answer = () => ${answer};`);
  const load = async (...flags: string[]) => {
    const { stdout } = await execa(process.execPath, [...flags, "--input-type=module", "--eval", loading], {
      env: { PROGRAM: program(), KEPT: kept() },
    });
    return stdout.split("\n");
  };
  /** Another one each time that it is written: the new one is there before the old one goes. */
  const file = async () => (await stat(kept())).ino;
  /** Whether it isn't taken, and another is kept. */
  const isReplacedBy = async (change: () => Promise<unknown>) => {
    const before = await file();
    await change();
    return (await file()) !== before;
  };

  it("is found the next time, whole and for this user alone", async () => {
    await write("1 + 1");
    assert.deepEqual(await load(), ["2"]);
    assert.equal(await isReplacedBy(async () => assert.deepEqual(await load(), ["2"])), false);
    if (process.platform !== "win32") assert.equal((await stat(kept())).mode & 0o777, 0o600);
    assert.deepEqual((await readdir(base.path)).sort(), ["kept", "program.cjs"]);
  });

  it("is of the functions that ran, not of those alone that begin the program", async () => {
    await write("1 + 1");
    await load();
    const short = (await stat(kept())).size;
    const sum = Array.from({ length: 500 }, (_, at) => `Math.abs(${at})`).join(" + ");
    await write(sum);
    await load();
    assert.ok((await stat(kept())).size - short > 2 * sum.length);
  });

  it("is no other program's, also of one as long", async () => {
    await write("1 + 1");
    await load();
    assert.ok(
      await isReplacedBy(async () => {
        await write("1 + 2");
        assert.deepEqual(await load(), ["3"]);
      }),
    );
  });

  it("is left where a part is missing, or another V8 has made it", async () => {
    await write("1 + 1");
    await load();
    const { size } = await stat(kept());
    for (const length of [0, 10, size - 10]) {
      const cutOff = async () => {
        await truncate(kept(), length);
        assert.deepEqual(await load(), ["2"]);
      };
      assert.ok(await isReplacedBy(cutOff), String(length));
    }
    assert.ok(await isReplacedBy(() => load("--no-opt")));
  });

  it("is left where a disk has made something else of it", async () => {
    await write("1 + 1");
    await load();
    const whole = await readFile(kept());
    const source = (await readFile(program())).length;
    for (const place of [0.01, 0.2, 0.45, 0.55, 0.8, 0.99]) {
      const damage = async () => {
        const damaged = Buffer.from(whole);
        const at = source + Math.floor((whole.length - source) * place);
        damaged.writeUInt8(damaged.readUInt8(at) ^ 0x10, at);
        await writeFile(kept(), damaged);
        assert.deepEqual(await load(), ["2"]);
      };
      assert.ok(await isReplacedBy(damage), String(place));
    }
  });

  itOn("posix", "is left where others may write to it", async () => {
    await write("1 + 1");
    await load();
    assert.ok(
      await isReplacedBy(async () => {
        await chmod(kept(), 0o666);
        assert.deepEqual(await load(), ["2"]);
      }),
    );
    assert.equal((await stat(kept())).mode & 0o777, 0o600);
  });

  it("is not missed where it can't be written", async () => {
    await write("1 + 1");
    const { stdout, stderr } = await execa(process.execPath, ["--input-type=module", "--eval", loading], {
      env: { PROGRAM: program(), KEPT: join(base.path, "missing", "kept") },
    });
    assert.deepEqual([stdout, stderr], ["2", ""]);
  });

  it("belongs to one program for all files beside it", async () => {
    await writeFile(program(), `exports.own = {}; exports.answer = () => require("./other.cjs").isSame;`);
    await writeFile(
      join(base.path, "other.cjs"),
      `const { own } = require("./program.cjs"); exports.isSame = own !== undefined && own === require("./program.cjs").own;`,
    );
    for (let times = 0; times < 2; times++) assert.deepEqual(await load(), ["others", "true"]);
  });

  it("is kept by the tool for each of the commands that scripts call, unless that is declined", async () => {
    await using tool = await toolbox();
    const names = async (more: Record<string, string>, cache: string) => {
      for (const words of [["org"], ["runs", "list"], ["pipelines"], ["--help"]]) {
        assert.equal((await tool.run(words, { ...more, PIPELINE_CACHE_DIR: cache })).exitCode, 0);
      }
      const found = await readdir(join(cache, "compiled")).catch(() => []);
      return found.flatMap((name) => /^core-([a-z]+)-/.exec(name)?.[1] ?? []).sort();
    };
    assert.deepEqual(await names({}, join(base.path, "one")), ["org", "other", "runs"]);
    assert.deepEqual(await names({ NODE_DISABLE_COMPILE_CACHE: "1" }, join(base.path, "two")), []);
  });
});
