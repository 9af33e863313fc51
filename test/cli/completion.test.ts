import assert from "node:assert/strict";
import { readdir } from "node:fs/promises";
import { type AddressInfo, createServer } from "node:net";
import fc from "fast-check";
import { paths, values } from "../../src/cli/completion/answerTab.ts";
import { bashWord, readBashLine } from "../../src/cli/completion/wantedWord.ts";
import { LoopbackService } from "../client/loopbackService.ts";
import { programPipeline, untilCancelled } from "../service/startedService.ts";
import { servedToolbox, type Toolbox, toolbox } from "./toolbox.ts";
import { words } from "./words.ts";

const breaks = " \t\n\"'><=;|&(:@";
const oddShop = `Acme & "Co" $HOME it's`;

/** What the tool tells a shell, a line each, without the first. */
async function offered(tool: Toolbox, ...args: string[]): Promise<string[]> {
  const { stdout, stderr, exitCode } = await tool.call(["__complete", ...args]);
  assert.deepEqual([exitCode, stderr], [0, ""]);
  return stdout.split("\n").slice(1);
}

describe("what may stand at the cursor", () => {
  it("is a command, an option, a choice, a pipeline of the project", async () => {
    await using tool = await toolbox();
    await tool.write("hello", programPipeline(""));
    await tool.write("broken", "steps: 1");
    const firsts = async (...line: string[]) =>
      (await offered(tool, "zsh", ...line)).map((each) => each.split("\t")[0] ?? "");
    const commands = await firsts("");
    for (const word of ["run", "runs", "validate", "help"]) assert(commands.includes(word), word);
    assert.deepEqual(await firsts("keys", ""), ["create", "list", "revoke"]);
    assert((await firsts("run", "--")).includes("--detach"));
    assert(!(await firsts("run", "--detach", "--")).includes("--detach"));
    assert((await firsts("runs", "list", "-")).includes("--json"));
    assert.deepEqual(await firsts("keys", "create", "--role", ""), ["owner", "member", "viewer", "runner"]);
    assert.deepEqual(await offered(tool, "zsh", "run", ""), ["broken\thas problems", "hello\t"]);
    assert.deepEqual(await firsts("run", "hello", "--json", ""), ["broken"]);
    assert.deepEqual(await firsts("run", "--", "--"), ["broken", "hello"]);
    assert.deepEqual(await firsts("help", "keys", ""), ["create", "list", "revoke"]);
    assert.deepEqual(await firsts("org", ""), []);
    assert.deepEqual(await firsts("nonsense", "--wrong", ""), []);
  });

  it("is found without starting a service, and without a word of complaint", async () => {
    await using tool = await toolbox();
    for (const line of [
      ["runs", "cancel", ""],
      ["run", ""],
    ]) {
      assert.deepEqual(await offered(tool, "fish", ...line), []);
    }
    assert.deepEqual(await readdir(tool.data), []);
    await using other = await LoopbackService.listen((_, response) => void response.writeHead(500).end("no"));
    const wrong = { PIPELINE_BASE_URL: other.origin, PIPELINE_API_KEY: "x" };
    const { stdout, stderr, exitCode } = await tool.call(["__complete", "zsh", "runs", "cancel", ""], wrong);
    assert.deepEqual([stdout, stderr, exitCode], ["", "", 0]);
  });

  it("is nothing, after a short while, where the service never answers", async () => {
    await using tool = await toolbox();
    const silent = createServer();
    await new Promise<void>((resolve) => silent.listen(0, "127.0.0.1", resolve));
    const { port } = silent.address() as AddressInfo;
    const named = { PIPELINE_BASE_URL: `http://127.0.0.1:${port}`, PIPELINE_API_KEY: "x" };
    const { stdout, stderr, exitCode } = await tool.run(["__complete", "fish", "runs", "cancel", ""], named);
    assert.deepEqual([stdout, stderr, exitCode], ["", "", 0]);
    silent.close();
  });

  it("is known for each argument and option, or it is free text", () => {
    const free: string[] = [];
    for (const command of words().program.leaves()) {
      const wants = (name: string, choices: readonly string[] | undefined, shown = name) => {
        if (choices === undefined && !(name in values || name in paths)) free.push(shown);
      };
      for (const argument of command.registeredArguments) {
        wants(`${command.words()} ${argument.name()}`, argument.argChoices);
      }
      for (const option of command.options.filter(({ required }) => required)) {
        wants(option.name(), option.argChoices, `--${option.name()}`);
      }
    }
    const known = ["help command", "login base-url", "logout base-url", "keys revoke id"];
    const numbersAndTexts = [
      "max-runs",
      "org",
      "parallel",
      "time-limit",
      "limit",
      "after",
      "since",
      "until",
      "grep",
      "last",
      "from",
      "reserve",
      "tail",
      "port",
      "name",
      "database",
      "host",
      "object-store",
      "service",
      "slots",
      "label",
      "parallel-runs",
      "runs-per-day",
      "tier",
    ];
    known.push(...[...numbersAndTexts, "retention-days"].map((name) => `--${name}`));
    assert.deepEqual(
      free.filter((each) => !known.includes(each)),
      [],
    );
  });

  it("is a run of the service that is running: one in work to cancel", async () => {
    await using tool = await servedToolbox();
    await tool.write("long", programPipeline(untilCancelled));
    await tool.write("quick", programPipeline(""));
    await tool.call(["run", "quick"]);
    await tool.call(["run", "long", "--detach"]);
    const runs = await offered(tool, "fish", "runs", "cancel", "");
    assert.equal(runs.length, 1);
    assert.match(runs[0] ?? "", /^run_\w+\tlong, running$/);
  });

  it("is a file that the run has kept, behind the run's id", async () => {
    await using tool = await servedToolbox();
    const write = [process.execPath, "-e", "require('node:fs').writeFileSync('report.xml', '')"];
    const steps = [{ use: "sh", run: write, keep: "report.xml" }];
    await tool.write("tests", JSON.stringify({ resources: { sh: { type: "cli" } }, steps }));
    const [run] = JSON.parse((await tool.call(["run", "tests", "--json"])).stdout).runs;
    assert.deepEqual(await offered(tool, "fish", "runs", "download", run["run-id"], ""), [
      "report.xml\ttext/plain",
    ]);
    assert.deepEqual(await offered(tool, "fish", "runs", "download", "run_none", ""), []);
  });

  it("is a step of the run whose log is printed, by its id where it has one, of the newest by default", async () => {
    await using tool = await servedToolbox();
    const run = [process.execPath, "-e", ""];
    const steps = [
      { name: "Unit tests", id: "unit", use: "sh", run },
      { name: "the end", use: "sh", run },
    ];
    await tool.write("tests", JSON.stringify({ resources: { sh: { type: "cli" } }, steps }));
    assert.deepEqual(await offered(tool, "fish", "runs", "log", "--step", ""), []);
    const [{ "run-id": runId }] = JSON.parse((await tool.call(["run", "tests", "--json"])).stdout).runs;
    const offer = ["unit\tUnit tests", "the end\t"];
    assert.deepEqual(await offered(tool, "fish", "runs", "log", "--step", ""), offer);
    assert.deepEqual(await offered(tool, "fish", "runs", "log", runId, "--step", ""), offer);
  });

  it("is only what goes on from the word in bash, quoted as the word is", async () => {
    await using tool = await toolbox();
    const shop = { options: [oddShop, "we:ird=x", "Ümläut"] };
    const steps = [{ use: "sh", run: "echo" }];
    await tool.write("sell", JSON.stringify({ inputs: { shop }, resources: { sh: { type: "cli" } }, steps }));
    const tab = (word: string) => offered(tool, "bash", `pipeline run sell --input ${word}`, breaks);
    assert.deepEqual(await tab("sh"), ["shop="]);
    assert.deepEqual(await tab("shop=Ac"), [String.raw`Acme\ \&\ \"Co\"\ \$HOME\ it\'s`]);
    assert.deepEqual(await tab('shop="Ac'), [String.raw`Acme & \"Co\" \$HOME it's`]);
    assert.deepEqual(await tab("shop='Ac"), [`Acme & "Co" $HOME it'\\''s`]);
    assert.deepEqual(await tab("shop=we:"), ["ird=x"]);
    assert.deepEqual(await tab("shop=we:ird"), ["ird=x"]);
    assert.deepEqual(await tab("shop=Ü"), ["Ümläut"]);
    const attached = await offered(tool, "bash", "pipeline run sell --input=shop=A", breaks);
    assert.deepEqual(attached, [String.raw`Acme\ \&\ \"Co\"\ \$HOME\ it\'s`]);
  });

  it("parts no word of a line of bash at a space that bash takes for a letter", () => {
    for (const space of ["\u00a0", "\ufeff", "\u2003"]) {
      assert.deepEqual(readBashLine(`pipeline run a${space}b `, breaks).before, [
        "pipeline",
        "run",
        `a${space}b`,
      ]);
    }
  });

  it("is read from a line of bash as bash reads it, whatever the words are", () => {
    fc.assert(
      fc.property(fc.array(fc.string({ unit: "grapheme", minLength: 1 }), { minLength: 1 }), (words) => {
        const usable = words.filter((word) => !/[\p{Cc}\s]/u.test(word));
        const nothing = { before: [], current: "", prefix: "", quote: "" } as const;
        const line = usable.map((word) => bashWord(word, nothing)).join(" ");
        assert.deepEqual(readBashLine(`${line} `, breaks).before, usable);
      }),
    );
  });
});
