// biome-ignore-all lint/suspicious/noTemplateCurlyInString: the placeholders are the pipeline's.
import assert from "node:assert/strict";
import { execFileSync } from "node:child_process";
import { writeFile } from "node:fs/promises";
import { join } from "node:path";
import type { RunStep } from "../../../src/contract/run.ts";
import { setValues } from "../../../src/service/store/ranPipelines.ts";
import { putSteps } from "../../../src/service/store/runs.ts";
import { itOn } from "../../itOn.ts";
import { fillDay } from "../../service/fillDay.ts";
import { onTerminal } from "../onTerminal.ts";
import { servedToolbox } from "../toolbox.ts";

const checkout = [
  "inputs:",
  "  base-url: \"${{ default(env.SHOP_URL, 'http://127.0.0.1:1') }}\"",
  "  region: { options: [eu, us], description: Whose prices are used }",
  "  lamps: { type: number, default: 2 }",
  "  visit: true",
  "resources: { sh: { type: cli } }",
  'steps: [{ name: one, use: sh, run: ["node", "-e", ""] }]',
  "",
].join("\n");

const plain = 'resources: { sh: { type: cli } }\nsteps: [{ name: one, use: sh, run: ["node", "-e", ""] }]\n';

/** A toolbox with two pipelines, of which one takes inputs. */
async function box() {
  const tool = await servedToolbox();
  await tool.write("checkout", checkout);
  await tool.write("plain", plain);
  return tool;
}

describe("pipeline run --input", () => {
  it("gives inputs, which the run, the list and the text of a run show", async () => {
    await using tool = await box();
    await writeFile(join(tool.project, "url.txt"), "\ufeffhttp://x\ny");
    const words = ["--input", "region=us", "--input=lamps=3", "--input", "base-url=@url.txt"];
    const { exitCode, stdout, stderr } = await tool.call(["run", "checkout", ...words, "--json"]);
    assert.equal(exitCode, 0, stderr);
    const inputs = { "base-url": "http://x\ny", region: "us", lamps: 3, visit: true };
    const [run] = JSON.parse(stdout).runs;
    assert.deepEqual(run.inputs, inputs);
    const shown = await tool.call(["runs", "show", run["run-id"]]);
    assert.match(shown.stdout, /^Inputs\n {2}base-url: http:\/\/x\n {4}y\n {2}region: us\n {2}lamps: 3$/m);
    const list = async (input: string) =>
      JSON.parse((await tool.call(["runs", "list", "--input", input, "--json"])).stdout).runs.length;
    assert.deepEqual([await list("region=us"), await list("lamps=3"), await list("lamps=2")], [1, 1, 0]);
    assert.equal((await tool.call(["runs", "list", "--input", "region"])).exitCode, 2);
  });

  it("lists what is missing and how to give it where nobody can be asked, and starts nothing", async () => {
    await using tool = await box();
    for (const pipelines of [["checkout"], ["plain", "checkout"]]) {
      const { exitCode, stderr } = await tool.call(["run", ...pipelines]);
      assert.equal(exitCode, 2, stderr);
      assert.match(stderr, /^`region` is missing: eu or us\. Whose prices are used$/m);
      assert.match(stderr, /such as `--input region=eu`/);
    }
    const wrong = await tool.call(["run", "checkout", "--input", "regoin=eu", "--input", "lamps=x"]);
    assert.equal(wrong.exitCode, 2);
    assert.match(wrong.stderr, /there is no input `regoin`; did you mean `region`\?/);
    assert.match(wrong.stderr, /`lamps` should be a number, not `x`/);
    const large = await tool.call(["run", "checkout", "--input", "lamps=12345678901234567890"]);
    assert.match(large.stderr, /not `12345678901234567890`: decimal, and within ±2\^53 if whole$/m);
    for (const odd of ["region", "=eu", "a b=c"]) {
      assert.equal((await tool.call(["run", "checkout", "--input", odd])).exitCode, 2, odd);
    }
    const file = await tool.call(["run", "checkout", "--input", "region=@none"]);
    assert.equal(file.exitCode, 2);
    assert.match(file.stderr, /none can't be read.*\n.*`--input region=@@…`/);
    assert.equal(JSON.parse((await tool.call(["org", "--json"])).stdout).usage["runs-today"], 0);
  });

  it("isn't called unknown where the file is broken: its problem is told", async () => {
    await using tool = await box();
    await tool.write("broken", "inputs: { region: {} }\nsteps: [{ use: shell, run: echo hi }]\n");
    const { exitCode, stderr } = await tool.call(["run", "broken", "--input", "region=eu"]);
    assert.equal(exitCode, 2);
    assert.match(stderr, /can't be run:\npipelines\/broken\.yaml:2:\d+: /);
    assert.doesNotMatch(stderr, /region/);
  });

  itOn(
    "posix",
    "is read from a pipe until that is closed, and from no device, which never ends",
    async () => {
      await using tool = await box();
      const pipe = join(tool.project, "pipe");
      execFileSync("mkfifo", [pipe]);
      const [{ exitCode, stdout }] = await Promise.all([
        tool.call(["run", "checkout", "--input", "region=eu", "--input", "base-url=@pipe", "--json"]),
        writeFile(pipe, "http://127.0.0.1:2"),
      ]);
      assert.equal(exitCode, 0);
      assert.equal(JSON.parse(stdout).runs[0].inputs["base-url"], "http://127.0.0.1:2");
      const device = await tool.call(["run", "checkout", "--input", "region=@/dev/zero"]);
      assert.equal(device.exitCode, 2);
      assert.match(device.stderr, /zero can't be read: it is no file/);
      await writeFile(join(tool.project, "large"), "x".repeat(200_000));
      const large = await tool.call(["run", "checkout", "--input", "region=@large"]);
      assert.match(large.stderr, /large can't be read: it is larger than 192 KiB/);
    },
  );

  it("goes to those of several pipelines that declare it, and to none it is an error", async () => {
    await using tool = await box();
    const { exitCode, stdout, stderr } = await tool.call([
      "run",
      "plain",
      "checkout",
      "--input",
      "region=eu",
      "--json",
    ]);
    assert.equal(exitCode, 0, stderr);
    const [first, second] = JSON.parse(stdout).runs;
    assert.deepEqual([first.inputs, second.inputs.region], [undefined, "eu"]);
    const strange = await tool.call([
      "run",
      "plain",
      "checkout",
      "--input",
      "region=eu",
      "--input",
      "shade=red",
    ]);
    assert.equal(strange.exitCode, 2);
    assert.match(strange.stderr, /there is no input `shade`/);
  });

  it("is repeated by the command that a refusal and a failed run name", async () => {
    await using tool = await box();
    await tool.write(
      "fails",
      `${checkout.replace('steps: [{ name: one, use: sh, run: ["node", "-e", ""] }]', "steps:")}  - { name: one, use: sh, run: ["node", "-e", ""] }\n  - { name: two, use: sh, run: ["node", "-e", "process.exit(1)"] }\n`,
    );
    const failed = await tool.call(["run", "fails", "--input", "region=us"]);
    assert.match(
      failed.stderr,
      /`pipeline run fails --from two --input region=us --input lamps=2 --input visit=true`/,
    );
    await fillDay(tool.data, 49);
    const { exitCode, stdout } = await tool.call([
      "run",
      "checkout",
      "--input",
      "region=eu",
      "--input",
      "base-url=@@x",
    ]);
    assert.equal(exitCode, 5);
    const [hint] = JSON.parse(stdout).hints;
    assert.equal(hint.command, "pipeline run checkout --input region=eu --input base-url=@@x");
  });

  itOn(
    "linux",
    "is asked for at a terminal: an option by its number, again after a wrong answer",
    async () => {
      await using tool = await box();
      await tool.write("asks", checkout.replace("visit: true", "visit: { type: boolean }"));
      const child = onTerminal(tool, "run asks", {}, 120);
      const answers = [/region \(1-2\): $/, "3\n", /region \(1-2\): $/, "2\n", /visit \(y\/n\): $/, "n\n"];
      let screen = "";
      child.stdout.on("data", (text) => {
        screen += text;
        const [question] = answers;
        if (question instanceof RegExp && question.test(screen)) {
          answers.shift();
          screen = "";
          child.stdin.write(String(answers.shift()));
        }
      });
      const { exitCode, stdout } = await child;
      assert.equal(exitCode, 0, stdout);
      assert.match(stdout, /region: Whose prices are used\r\n {2}1\) eu\r\n {2}2\) us\r\n/);
      assert.match(stdout, /`region` should be one of `eu`, `us`, not `3`/);
      const { inputs } = JSON.parse((await tool.call(["runs", "show", "--json"])).stdout);
      assert.deepEqual(inputs, { "base-url": "http://127.0.0.1:1", region: "us", lamps: 2, visit: false });
    },
  );

  itOn(
    "linux",
    "is not asked for any more after Ctrl-C, which leaves with 130, and after the input's end",
    async () => {
      await using tool = await box();
      for (const [key, code] of [
        ["\u0003", 130],
        ["\u0004", 2],
      ] as const) {
        const child = onTerminal(tool, "run checkout", {}, 120);
        child.stdout.on("data", (text) => {
          if (/\(1-2\): $/.test(String(text))) child.stdin.write(key);
        });
        const { exitCode, stdout } = await child;
        assert.equal(exitCode, code, stdout);
      }
      assert.equal(JSON.parse((await tool.call(["org", "--json"])).stdout).usage["runs-today"], 0);
    },
  );

  it("is completed by the names and the options of what is to be run", async () => {
    await using tool = await box();
    const tab = async (...words: string[]) =>
      (await tool.call(["__complete", "zsh", ...words])).stdout
        .split("\n")
        .slice(1)
        .filter((line) => line !== "");
    assert.deepEqual(await tab("run", "checkout", "--input", ""), [
      "base-url=\ta text",
      "region=\teu or us. Whose prices are used",
      "lamps=\ta number",
      "visit=\ttrue or false",
    ]);
    assert.deepEqual(await tab("run", "plain", "--input", ""), []);
    assert((await tab("run", "checkout", "--input", "region=")).includes("region=eu\t"));
    assert((await tab("runs", "list", "--input", "visit=")).includes("visit=true\t"));
  });

  it("is what `pipeline pipelines` lists, each with what a start without it means", async () => {
    await using tool = await box();
    const { stdout } = await tool.call(["pipelines"]);
    assert.match(
      stdout,
      /^checkout\tcli\tfine\tbase-url=<text> \[optional\], region=<eu\|us> \[required\], lamps=<number> \[default: 2\], visit=<boolean> \[default: true\]$/m,
    );
    const { pipelines } = JSON.parse((await tool.call(["pipelines", "--json"])).stdout);
    assert.deepEqual(pipelines[0].inputs[1], {
      ...{ name: "region", type: "text", options: ["eu", "us"] },
      ...{ description: "Whose prices are used", required: true },
    });
  });
});

describe("pipeline runs show", () => {
  it("tells what was tried again, not reached and cleaned up, and what the run has put out", async () => {
    await using tool = await box();
    const started = await tool.call(["run", "checkout", "--input", "region=eu"]);
    const runId = started.stdout.split(" ")[0] ?? "";
    await tool.service.db.transaction().execute(async (tx) => {
      const outputs = { order: 7, "the-lines": [{ lamp: "desk" }] };
      await setValues(tx, runId, { kind: "outputs", outputs });
      const steps = new Map<number, RunStep>([
        [1, { name: "two", type: "http", status: "failed", attempts: 3 }],
        [2, { name: "three", type: "sql", status: "not-reached" }],
        [3, { name: "four", type: "cli", status: "succeeded", cleanup: true }],
      ]);
      await putSteps(tx, runId, steps);
    });
    const { stdout } = await tool.call(["runs", "show", runId]);
    assert.match(stdout, /^ {2}base-url: http:\/\/127\.0\.0\.1:1$/m);
    assert.match(stdout, /^Outputs\n {2}order: 7\n {2}the-lines: \[\{"lamp":"desk"\}\]$/m);
    assert.match(stdout, /two \(http, 3 attempts\) failed/);
    assert.match(stdout, /three \(sql\) not-reached/);
    assert.match(stdout, /four \(cli, cleanup\) succeeded/);
    const json = JSON.parse((await tool.call(["runs", "show", runId, "--json"])).stdout);
    assert.deepEqual(
      [json.outputs["the-lines"], json["evaluated-inputs"]],
      [[{ lamp: "desk" }], ["base-url"]],
    );
    assert.deepEqual([json.steps[1].attempts, json.steps[3].cleanup], [3, true]);
  });
});
