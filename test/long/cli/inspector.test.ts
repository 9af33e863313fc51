import assert from "node:assert/strict";
import { join } from "node:path";
import { execa } from "execa";
import { installOnDemand } from "../../../scripts/process/installOnDemand.ts";
import { sayToStandardError } from "../../../scripts/say.ts";
import { resultOf } from "../../cli/mcp/agent.ts";
import { servedToolbox, type Toolbox, toolbox } from "../../cli/toolbox.ts";
import { fillDay } from "../../service/fillDay.ts";
import { programPipeline } from "../../service/startedService.ts";

const folder = join(import.meta.dirname, "inspector");
const program = join(folder, "node_modules/@modelcontextprotocol/inspector/clients/launcher/build/index.js");
/** The inspector's name for each revision: it negotiates the newest of an era. */
const eras = { "2025-11-25": "legacy", "2026-07-28": "modern" } as const;

describe("`pipeline mcp`, under the protocol's own inspector", function () {
  this.timeout(300_000);

  before(async () => {
    const inspector = { name: "the MCP inspector", size: "about 110 MB", folder, finish: async () => {} };
    await installOnDemand(inspector, sayToStandardError, AbortSignal.timeout(240_000));
  });

  for (const [revision, era] of Object.entries(eras)) {
    it(`has nothing wrong with its tools at revision ${revision}`, async () => {
      await using box = await toolbox();
      // It ends with 6 for a schema that some clients can't use.
      const listed = await inspect(box, era, ["--strict", "--method", "tools/list"]);
      assert.equal(listed.exitCode, 0, listed.stderr);
      assert.equal(JSON.parse(listed.stdout).tools.length, 10);
      assert.equal(listed.stderr, "");
    });
  }

  it("plays an agent's session, whose calls are of either revision", async () => {
    await using box = await servedToolbox();
    await box.write("broken", programPipeline("console.log('it broke'); process.exit(1)"));
    const call = async (era: string, tool: string, args: object = {}) => {
      const words = ["--method", "tools/call", "--tool-name", tool];
      words.push("--tool-args-json", JSON.stringify(args));
      return resultOf(JSON.parse((await inspect(box, era, words)).stdout));
    };

    const begun = await call("legacy", "start_run", { pipeline: "broken" });
    assert.equal(begun.value.quota?.["runs-today"], 1, begun.text);
    const broken = { "run-id": begun.value.run?.["run-id"] };
    assert.equal((await call("modern", "wait_for_run", broken)).value.run?.status, "failed");
    const log = await call("legacy", "get_run_log", { ...broken, "failed-step-only": true });
    assert.match(log.text, /it broke/);

    await fillDay(box.data, 49);
    for (const era of Object.values(eras)) {
      const refused = await call(era, "start_run", { pipeline: "broken" });
      assert.deepEqual([refused.isError, refused.value.refusal?.scope], [true, "free-day"]);
      assert.match(refused.text, /Quota: 50 of 50 runs used today, 0 left for you/);
    }
  });
});

/** One call of the inspector, which has a server of its own, and ends with 5 for a tool's error. */
function inspect(box: Toolbox, era: string, words: readonly string[]) {
  // The server gets none of the inspector's environment but what its system needs.
  const env = Object.entries(box.env).flatMap(([name, value]) =>
    value === undefined ? [] : ["-e", `${name}=${value}`],
  );
  const server = [process.execPath, box.path, "mcp"];
  return execa(process.execPath, [program, "--cli", "--protocol-era", era, ...env, ...words, ...server], {
    cwd: box.project,
    env: { HOME: box.data, USERPROFILE: box.data },
    stdin: "ignore",
    reject: false,
  });
}
