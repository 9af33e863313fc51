import assert from "node:assert/strict";
import { join } from "node:path";
import { execa } from "execa";
import { installOnDemand } from "../../../scripts/process/installOnDemand.ts";
import { sayToStandardError } from "../../../scripts/say.ts";
import { programPipeline } from "../../service/startedService.ts";
import { toolbox } from "../toolbox.ts";

const folder = join(import.meta.dirname, "inspector");
const program = join(folder, "node_modules/@modelcontextprotocol/inspector/clients/launcher/build/index.js");

describe("`pipeline mcp`, under the protocol's own inspector", function () {
  this.timeout(300_000);

  before(async () => {
    const inspector = { name: "the MCP inspector", size: "about 110 MB", folder, finish: async () => {} };
    await installOnDemand(inspector, sayToStandardError, AbortSignal.timeout(240_000));
  });

  for (const era of ["legacy", "modern"]) {
    it(`has nothing wrong with its tools, and answers, in the ${era} era`, async () => {
      await using box = await toolbox();
      await box.write("hello", programPipeline(""));
      const inspect = (...words: string[]) =>
        execa(
          process.execPath,
          [program, "--cli", "--protocol-era", era, ...words, process.execPath, box.path, "mcp"],
          { cwd: box.project, env: { ...box.env, HOME: box.data, USERPROFILE: box.data }, stdin: "ignore" },
        );
      // It ends with 6 for a schema that some clients can't use.
      const listed = await inspect("--strict", "--method", "tools/list");
      assert.equal(JSON.parse(listed.stdout).tools.length, 10);
      assert.equal(listed.stderr, "");
      const start = ["--tool-name", "start_run", "--tool-args-json", '{"pipeline":"hello"}'];
      const called = await inspect("--method", "tools/call", ...start);
      assert.equal(JSON.parse(called.stdout).structuredContent.quota["runs-today"], 1);
    });
  }
});
