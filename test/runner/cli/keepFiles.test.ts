// biome-ignore-all lint/suspicious/noTemplateCurlyInString: the references that pipeline files are written with.
import assert from "node:assert/strict";
import { execFileSync } from "node:child_process";
import { mkdirSync, readFileSync, symlinkSync, truncateSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { TemporaryFolder, temporaryFolder } from "../../temporaryFolder.ts";
import { launchTestRun, pipelineOf } from "../launch/launchTestRun.ts";

const MiB = 1024 * 1024;

describe("the files that a cli step keeps", () => {
  if (process.platform === "win32") return;
  const folder = temporaryFolder();

  it("are those at its paths and patterns, also when it fails or takes too long", async () => {
    const script =
      "mkdir -p reports/deep node_modules; echo a > reports/a.xml; echo b > reports/deep/b.json; echo n > node_modules/n.xml; printf '\\211PNG\\0' > x.PNG";
    const keep = ["reports/*.xml", "**/*.{json,xml}", "x.PNG", "reports", "none/*"];
    for (const end of ["true", "exit 3", "sleep 1000"]) {
      const run = await ran([{ run: `${script}; ${end}`, keep, timeout: "3s" }]);
      assert.deepEqual(
        run.files.map(({ name, mediaType, bytes, text }) => [name, mediaType, bytes, text]),
        [
          ["reports/a.xml", "text/plain", 2, "a\n"],
          ["reports/deep/b.json", "application/json", 2, "b\n"],
          ["x.PNG", "image/png", 5, "\ufffdPNG\0"],
        ],
      );
      assert.match(run.log, /there is nothing to keep at none\/\*\n/);
      assert.match(run.log, /reports is a folder: `reports\/\*\*` keeps what is in it\n/);
    }
  });

  it("are looked for where the program runs, and of the attempts the last one's count", async () => {
    mkdirSync(join(folder.path, "app"));
    const run = await ran([
      {
        run: 'echo x >> tries; test "$(wc -l < tries)" -eq 2',
        cwd: "app",
        keep: "tries",
        retry: { times: 3, every: "1ms" },
      },
    ]);
    assert.deepEqual(
      run.files.map(({ name, text }) => [name, text]),
      [["app/tries", "x\nx\n"]],
    );
  });

  it("are masked where they are texts, in any encoding, and otherwise as they are", async () => {
    const bytes = (name: string, content: Buffer) => writeFileSync(join(folder.path, name), content);
    bytes("utf8.log", Buffer.from("\ufefftoken s3cr3t-value ä"));
    bytes("base64.log", Buffer.from(Buffer.from("s3cr3t-value").toString("base64")));
    bytes("utf16.log", Buffer.from("\ufefftoken s3cr3t-value ä", "utf16le"));
    bytes("nul.log", Buffer.from("\0token s3cr3t-value"));
    bytes("latin1.log", Buffer.from("token s3cr3t-value \xe4", "latin1"));
    bytes("plain-latin1.log", Buffer.from("token \xe4", "latin1"));
    bytes("archive.bin", Buffer.from("\0\xffs3cr3t-value", "latin1"));
    const run = await ran(
      [{ run: "true", keep: ["*.log", "archive.bin"], env: { TOKEN: "${{ env.TOKEN }}" } }],
      { TOKEN: "s3cr3t-value" },
    );
    assert.deepEqual(
      run.files.map(({ name, text }) => [name, text]),
      [
        ["archive.bin", "\0\ufffds3cr3t-value"],
        ["base64.log", "***"],
        ["latin1.log", "token *** ä"],
        ["nul.log", "\0token ***"],
        ["plain-latin1.log", "token \ufffd"],
        ["utf16.log", "\ufefftoken *** ä"],
        ["utf8.log", "\ufefftoken *** ä"],
      ],
    );
  });

  it("are never beyond the project's folder, no pipe, no device, and no more than fit", async () => {
    await using other = await TemporaryFolder.make();
    writeFileSync(join(other.path, "key"), "private");
    const at = (name: string) => join(folder.path, name);
    mkdirSync(at("in"));
    symlinkSync(join(other.path, "key"), at("in/link"));
    symlinkSync(other.path, at("in/folder"));
    symlinkSync("/", at("in/root"));
    symlinkSync("good", at("in/own"));
    symlinkSync("gone", at("in/dangling"));
    symlinkSync(".", at("in/loop"));
    symlinkSync("/dev/zero", at("in/zero"));
    writeFileSync(at("in/good"), "good");
    writeFileSync(at("in/huge"), "");
    truncateSync(at("in/huge"), 2 ** 40);
    execFileSync("mkfifo", [at("in/pipe")]);
    const evil = "in/\u001b]0;owned\u0007\u202e\nevil";
    writeFileSync(at(evil), "evil");
    const run = await ran([
      {
        run: "true",
        keep: ["in/*", "in/folder/*", "in/root/etc/hostname", "{..,in}/*", "in/.{.,}/*/key", "{/etc,x}/*"],
      },
    ]);
    assert.deepEqual(
      run.files.map(({ name, text }) => [name, text]),
      [
        [evil, "evil"],
        ["in/good", "good"],
        ["in/own", "good"],
      ],
    );
    const notes = run.log.split("\n");
    for (const name of ["in/link", "in/zero", "in/folder/key", "in/root/etc/hostname"])
      assert(notes.includes(`${name} isn't kept: it leads out of the project's folder`), run.log);
    assert(!run.log.includes("../"), run.log);
    assert(notes.includes("in/pipe isn't kept: it is no plain file"), run.log);
    assert(
      notes.includes(`in/huge isn't kept: it has ${2 ** 40} bytes, and at most ${8 * MiB} are kept of one`),
    );
    assert.match(run.log, /in\/dangling isn't kept: .*ENOENT/);
  });

  it("are at most 100 of a step, and those of a run 64 MiB together", async () => {
    const run = await ran([
      {
        run: "mkdir many; cd many; i=100; while [ $i -lt 202 ]; do echo > $i; i=$((i+1)); done",
        keep: "many/*",
      },
      {
        run: "mkdir large; cd large; for i in 1 2 3 4 5 6 7 8 9; do head -c 8388000 /dev/zero > $i; done",
        keep: "large/*",
      },
    ]);
    assert.equal(run.files.filter(({ index }) => index === 0).length, 100);
    assert.match(run.log, /no more files are kept: 100 of a step are the most\n/);
    assert.equal(run.files.filter(({ index }) => index === 1).length, 8);
    assert.match(run.log, /large\/9 isn't kept: a run's artifacts have at most/);
  });

  /** Runs the steps to their end. */
  async function ran(steps: readonly object[], env: NodeJS.ProcessEnv = {}) {
    const pipeline = pipelineOf({
      resources: { sh: { type: "cli" } },
      steps: steps.map((step) => ({ use: "sh", ...step })),
    });
    await using kept = await TemporaryFolder.make();
    const { job, artifacts, outputs } = launchTestRun(
      folder.path,
      pipeline,
      { env: { ...process.env, ...env } },
      kept.path,
    );
    assert.notEqual((await job.ended).kind, "died");
    return {
      files: artifacts.map(({ file, ...more }) => ({
        ...more,
        text: readFileSync(join(kept.path, file), "utf8"),
      })),
      log: outputs.map(({ text }) => text).join(""),
    };
  }
});
