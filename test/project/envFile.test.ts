// biome-ignore-all lint/suspicious/noTemplateCurlyInString: the references that pipeline files are written with.
import assert from "node:assert/strict";
import { mkdirSync, rmSync, symlinkSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { readEnvFile } from "../../src/project/envFile.ts";
import { launchTestRun, pipelineOf } from "../runner/launch/launchTestRun.ts";
import { temporaryFolder } from "../temporaryFolder.ts";

describe("a pipeline's env-file", () => {
  if (process.platform === "win32") return;
  const folder = temporaryFolder();

  it("is read at each run, goes before the environment, and is masked as it is", async () => {
    writeFileSync(join(folder.path, ".env"), "export TOKEN='first-secret' # of the shop\nUNUSED=shown\n");
    const env = { PATH: process.env["PATH"], TOKEN: "of-the-service", OTHER: "other-secret" };
    const print = "echo $A ${{ env.OTHER }} of-the-service; printf $A | base64; echo ${TOKEN} $UNUSED shown";
    assert.deepEqual(await run(print, env), {
      kind: "failed",
      message: "leak: exited with 1, expected 0:\n*** *** of-the-service\n***\nof-the-service shown",
    });
    writeFileSync(join(folder.path, ".env"), "TOKEN=second-secret\n");
    assert.deepEqual(await run("echo first-secret second-secret", env), {
      kind: "failed",
      message: "leak: exited with 1, expected 0:\nfirst-secret ***",
    });
  });

  it("never shows in the log or in what a step tells", async () => {
    writeFileSync(join(folder.path, ".env"), "TOKEN=a-secret-of-the-file\n");
    const { job, told, outputs } = launch("echo $A; echo a-secret-of; echo $A >&2");
    await job.ended;
    assert.doesNotMatch(JSON.stringify([told, outputs]), /a-secret-of-the-file/);
    assert.match(JSON.stringify(outputs), /\*\*\*/);
  });

  it("is said to be hidden within words, once, with what shows again a value that is no secret", async () => {
    writeFileSync(join(folder.path, ".env"), "TOKEN=prod\n");
    const said =
      /`\*\*\*` stands within words here: the values of TOKEN are hidden wherever they stand, and `unmasked: \[…\]` at the top of the file names those that are no secrets/g;
    const logOf = async (line: string) => {
      const { job, outputs } = launch(line);
      await job.ended;
      return outputs.map(({ text }) => text).join("");
    };
    const log = await logOf("echo product; echo product");
    assert.match(log, /\*\*\*uct/);
    assert.equal(log.match(said)?.length, 1, log);
    assert.doesNotMatch(await logOf("echo the prod"), said);
  });

  it("is named where a variable is in neither place", async () => {
    writeFileSync(join(folder.path, ".env"), "TOKEN=x\n");
    assert.deepEqual(await run("echo ${{ env.PIPELINE_TEST_UNSET }} ${{ env.constructor }}"), {
      kind: "failed",
      message:
        "leak: the environment variables `PIPELINE_TEST_UNSET`, `constructor` aren't set in `.env` or where the service was started",
    });
  });

  it("fails the run before its first step when it isn't there, and says what to do", async () => {
    rmSync(join(folder.path, ".env"), { force: true });
    const { job, told } = launch("true");
    assert.deepEqual(await job.ended, {
      kind: "failed",
      message: `the pipeline's env-file, \`.env\`, isn't in the project's folder, ${folder.path}: create it there, or set its variables where the run is started and remove \`env-file\` from the pipeline`,
    });
    assert.deepEqual(
      told.map(({ step }) => step.status),
      ["not-reached"],
    );
  });

  it("is said to be git-ignored where only the files of a start are", async () => {
    rmSync(join(folder.path, ".env"), { force: true });
    const read = await readEnvFile({ root: folder.path, pipeline: pipelineWith("true"), isSnapshot: true });
    assert.match(
      read.kind === "unreadable" ? read.message : "",
      /^the pipeline's env-file, `\.env`, didn't come with .* git ignores .* in the runner's environment/,
    );
  });

  const outside = () => {
    mkdirSync(join(folder.path, "project"), { recursive: true });
    writeFileSync(join(folder.path, "outside"), "TOKEN=1\n");
    symlinkSync(join("..", "outside"), join(folder.path, "project", ".env"));
    return join(folder.path, "project");
  };
  const cases: readonly [string, (() => string) | Uint8Array | undefined, RegExp][] = [
    [
      "leads out of the project by a link",
      outside,
      /leads out of the project's folder: put the file itself there$/,
    ],
    ["is a folder", undefined, /is no plain file$/],
    ["is too large", Buffer.alloc(64 * 1024 + 1, "#"), /is larger than 64 KiB/],
    [
      "is UTF-16",
      Buffer.from("\ufeffTOKEN=1", "utf16le"),
      /is not UTF-8: it is UTF-16; save the file as UTF-8$/,
    ],
    ["holds a NUL character", Buffer.from("TOKEN=1\0"), /is not UTF-8: it holds NUL characters/],
  ];
  for (const [what, made, problem] of cases) {
    it(`fails the run when it ${what}`, async () => {
      const file = join(folder.path, ".env");
      rmSync(file, { force: true, recursive: true });
      const root = typeof made === "function" ? made() : folder.path;
      if (made === undefined) mkdirSync(file);
      else if (typeof made !== "function") writeFileSync(file, made);
      const read = await readEnvFile({ root, pipeline: pipelineWith("true") });
      assert.match(read.kind === "unreadable" ? read.message : "it was read", problem);
    });
  }

  it("may be a link inside the project, and begin with a byte-order mark", async () => {
    const root = join(folder.path, "linked");
    mkdirSync(join(root, "config"), { recursive: true });
    writeFileSync(join(root, "config", "local"), "\ufeffTOKEN=1\n");
    symlinkSync(join("config", "local"), join(root, ".env"));
    assert.deepEqual(await readEnvFile({ root, pipeline: pipelineWith("true") }), {
      kind: "read",
      variables: { TOKEN: "1" },
    });
  });

  it("is read without filling anything in: a hash of a password has dollar signs", async () => {
    const root = join(folder.path, "dollars");
    mkdirSync(root);
    const hash = "$2y$10$fbdLV2U3Y98LrFYDbn2Fx.d33ubCz";
    writeFileSync(join(root, ".env"), `TOKEN=${hash}\nQUOTED="${hash}"\nSINGLE='a#b$HOME'\n`);
    assert.deepEqual(await readEnvFile({ root, pipeline: pipelineWith("true") }), {
      kind: "read",
      variables: { TOKEN: hash, QUOTED: hash, SINGLE: "a#b$HOME" },
    });
  });

  const pipelineWith = (line: string) =>
    pipelineOf({
      "env-file": ".env",
      resources: { sh: { type: "cli", env: { A: "${{ env.TOKEN }}" } } },
      steps: [{ name: "leak", use: "sh", run: `${line}; exit 1` }],
    });
  const launch = (line: string, env: NodeJS.ProcessEnv = { PATH: process.env["PATH"] }) =>
    launchTestRun(folder.path, pipelineWith(line), { env });
  const run = (line: string, env?: NodeJS.ProcessEnv) => launch(line, env).job.ended;
});
