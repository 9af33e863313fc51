// biome-ignore-all lint/suspicious/noTemplateCurlyInString: expressions as pipeline files write them.
import assert from "node:assert/strict";
import { readFile, rm, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { itOn } from "../../itOn.ts";
import { fillDay } from "../../service/fillDay.ts";
import { servedToolbox } from "../toolbox.ts";

/** Three steps: the first counts how often it ran, the second needs the file `ready`. */
const threeSteps = [
  "resources:",
  "  shell: { type: cli }",
  "steps:",
  "  - name: build it",
  "    use: shell",
  `    run: ["node", "-e", "require('fs').appendFileSync('built', 'x')"]`,
  "  - name: publish",
  "    use: shell",
  `    run: ["node", "-e", "require('fs').readFileSync('ready')"]`,
  "  - name: tell",
  "    use: shell",
  `    run: ["node", "-e", ""]`,
  "",
].join("\n");

describe("pipeline run --from", () => {
  it("skips the steps before the one that failed, which the failed run has named, and is a run of its own", async () => {
    await using tool = await servedToolbox();
    await tool.write("site", threeSteps);
    const first = await tool.run(["run", "site"]);
    assert.equal(first.exitCode, 1);
    assert.match(first.stderr, /^`pipeline run site --from publish` is a new run from that step\.$/m);
    await writeFile(join(tool.project, "ready"), "");
    const { exitCode, stdout, stderr } = await tool.call(["run", "site", "--from", "publish"]);
    assert.equal(exitCode, 0, stderr);
    assert.match(stderr, /build it \(skipped\)/);
    assert.equal(await readFile(join(tool.project, "built"), "utf8"), "x", "it ran once");
    const shown = JSON.parse(
      (await tool.call(["runs", "show", stdout.split(" ")[0] ?? "", "--json"])).stdout,
    );
    assert.deepEqual(
      shown.steps.map(({ name, status, "started-at": at }: Record<string, unknown>) => [name, status, !!at]),
      [
        ["build it", "skipped", false],
        ["publish", "succeeded", true],
        ["tell", "succeeded", true],
      ],
    );
    const org = JSON.parse((await tool.call(["org", "--json"])).stdout);
    assert.equal(org.usage["runs-today"], 2);
  });

  it("has the step that failed among the hints of --json, and not in the message", async () => {
    await using tool = await servedToolbox();
    await tool.write("site", threeSteps);
    const { stdout } = await tool.call(["run", "site", "--json"]);
    const { error, hints } = JSON.parse(stdout);
    assert.deepEqual(hints, [
      { command: "pipeline run site --from publish", doc: "a new run from that step" },
    ]);
    assert.doesNotMatch(error.message, /--from/);
  });

  it("comes after the variables that the failed step needs", async () => {
    await using tool = await servedToolbox();
    const needs = (run: string) => threeSteps.replace(/run: .*ready.*/, `run: [echo, ${run}]`);
    await tool.write("site", needs('"${{ env.SITE_A }}"'));
    const one = await tool.call(["run", "site"]);
    assert.match(
      one.stderr,
      /^Once `SITE_A` is set, `pipeline run site --from publish` is a new run from that step\.$/m,
    );
    assert.match(one.stderr, /`SITE_A` isn't set .*, and the pipeline names no `env-file`/);
    await tool.write("site", needs('"${{ env.SITE_A }}", "${{ env.SITE_B }}"'));
    assert.match(
      (await tool.call(["run", "site"])).stderr,
      /^Once `SITE_A`, `SITE_B` are set, `pipeline run/m,
    );
  });

  itOn("posix", "is not offered behind a step that started a program in the background", async () => {
    await using tool = await servedToolbox();
    const pipeline = (run: string) =>
      `resources: { shell: { type: cli } }\nsteps:\n  - { use: shell, run: "${run}" }\n  - { name: it is up, use: shell, run: "false" }\n`;
    for (const [run, isOffered] of [
      ["sleep 60 &", false],
      ["(sleep 60 & )", false],
      ["sleep 60 >out 2>&1 & sleep 0", false],
      ["true && true 2>&1", true],
      ["echo 'a?b=1&c=2' &>out", true],
    ] as const) {
      await tool.write("site", pipeline(run));
      const { stderr } = await tool.call(["run", "site"]);
      assert.match(stderr, /^pipeline: site failed at step `it is up`\.$/m);
      assert.equal(stderr.includes("--from 'it is up'"), isOffered, run);
    }
  });

  it("is refused, and not offered, where a later step uses the result of a skipped one", async () => {
    await using tool = await servedToolbox();
    const fails = `["node", "-e", "process.exit(1)", "\${{ steps.order.output }}"]`;
    const text = threeSteps
      .replace(/run: .*ready.*/, `run: ${fails}`)
      .replace("- name: build it", "- id: order\n    name: build it");
    await tool.write("site", text);
    const first = await tool.call(["run", "site"]);
    assert.equal(first.exitCode, 1, first.stderr);
    assert.doesNotMatch(first.stderr, /--from/);
    const byId = await tool.call(["run", "site", "--from", "order"]);
    assert.match(byId.stderr, /`site` has no step `order`; that is the `id` of `build it`\.$/m);
    const { exitCode, stderr } = await tool.call(["run", "site", "--from", "publish"]);
    assert.equal(exitCode, 2);
    assert.match(
      stderr,
      /^pipeline: `site` can't begin with `publish`: `publish` uses the result of the step `order`/,
    );
  });

  it("names the steps that there are, and is for one pipeline", async () => {
    await using tool = await servedToolbox();
    await tool.write("site", threeSteps);
    const wrong = await tool.call(["run", "site", "--from", "publsh"]);
    assert.equal(wrong.exitCode, 2);
    assert.match(
      wrong.stderr,
      /`site` has no step `publsh`\.\nIts steps are: `build it`, `publish`, `tell`\./,
    );
    const two = await tool.call(["run", "site", "site", "--from", "publish"]);
    assert.equal(two.exitCode, 2);
    assert.match(two.stderr, /--from is for a run of one pipeline/);
  });

  it("names a step by its number where others have its name, or where it is too long to be sent", async () => {
    await using tool = await servedToolbox();
    await tool.write("twice", threeSteps.replace("build it", "publish"));
    const first = await tool.call(["run", "twice"]);
    assert.match(first.stderr, /^`pipeline run twice --from 2` is a new run from that step\.$/m);
    const several = await tool.call(["run", "twice", "--from", "publish"]);
    assert.equal(several.exitCode, 2);
    assert.match(
      several.stderr,
      /`twice` has several steps named `publish`\.\nName one of them by its number: `1`, `2`\./,
    );
    await writeFile(join(tool.project, "ready"), "");
    const { exitCode, stderr } = await tool.call(["run", "twice", "--from", "2"]);
    assert.equal(exitCode, 0, stderr);
    assert.equal(await readFile(join(tool.project, "built"), "utf8"), "x", "the first step ran once");
    await tool.write("wordy", threeSteps.replace("publish", "publish".repeat(50)));
    await rm(join(tool.project, "ready"));
    assert.match((await tool.call(["run", "wordy"])).stderr, /^`pipeline run wordy --from 2` is a new run/m);
  });

  it("repeats the step in the hint of a refusal", async () => {
    await using tool = await servedToolbox();
    await tool.write("site", threeSteps);
    await fillDay(tool.data, 50);
    const { exitCode, stdout } = await tool.call(["run", "site", "--from", "build it"]);
    assert.equal(exitCode, 5);
    assert.equal(JSON.parse(stdout).hints[0].command, "pipeline run site --from 'build it'");
  });
});
