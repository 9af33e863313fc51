import assert from "node:assert/strict";
import { chmod, mkdir, readdir, readFile, writeFile } from "node:fs/promises";
import { type AddressInfo, createServer } from "node:net";
import { delimiter, join } from "node:path";
import { execa } from "execa";
import fc from "fast-check";
import type { Shell } from "../../src/cli/completion/scripts.ts";
import { bashWord, kindOfArgument, kindOfOption, readBashLine } from "../../src/cli/completion/wantedWord.ts";
import { programPipeline, untilCancelled } from "../service/startedService.ts";
import { answering } from "./answering.ts";
import { shellOf } from "./shellOf.ts";
import { servedToolbox, type Toolbox, toolbox } from "./toolbox.ts";
import { words } from "./words.ts";

const breaks = " \t\n\"'><=;|&(:@";
const oddOrg = `Acme & "Co" $HOME it's`;

/**
 * A toolbox whose tool is a command named `pipeline`, as it is where it was installed. It completes words; of any other line
 * it tells the words as the shell took them.
 */
async function withCommand(tool: Toolbox) {
  const folder = join(tool.project, "bin");
  await mkdir(folder);
  const command = join(folder, "pipeline");
  const exec = `exec '${process.execPath}' '${tool.path}' "$@"`;
  await writeFile(
    command,
    `#!/bin/sh\ncase $1 in completion | __complete) ${exec};; esac\nprintf '%s\\n' "$@"\n`,
  );
  await chmod(command, 0o755);
  const env = {
    PATH: `${folder}${delimiter}${process.env["PATH"]}`,
    HOME: tool.project,
    PIPELINE_DATA_DIR: tool.data,
    PIPELINE_BASE_URL: undefined,
    PIPELINE_API_KEY: undefined,
    LC_ALL: "C.UTF-8",
    TERM: "xterm",
  };
  return {
    tool,
    command,
    /** What the tool tells a shell, a line each, without the first. */
    async offered(...args: string[]): Promise<string[]> {
      const { stdout, stderr, exitCode } = await tool.run(["__complete", ...args]);
      assert.deepEqual([exitCode, stderr], [0, ""]);
      return stdout.split("\n").slice(1);
    },
    /** Types into an interactive shell on a terminal of its own. `\t` is the Tab key. */
    async type(shell: string, args: readonly string[], lines: readonly string[]): Promise<void> {
      await execa("script", ["-qec", [shell, ...args].join(" "), "/dev/null"], {
        cwd: tool.project,
        env,
        input: `${lines.join("\n")}\nexit\n`,
        reject: false,
      });
    },
    shell: (program: string, args: readonly string[]) =>
      execa(program, args, { cwd: tool.project, env, reject: false, stdin: "ignore" }),
    [Symbol.asyncDispose]: () => tool[Symbol.asyncDispose](),
  };
}

describe("what may stand at the cursor", () => {
  it("is a command, an option, a choice, a pipeline of the project", async () => {
    await using at = await withCommand(await toolbox());
    await at.tool.write("hello", programPipeline(""));
    await at.tool.write("broken", "steps: 1");
    const firsts = async (...line: string[]) =>
      (await at.offered("zsh", ...line)).map((each) => each.split("\t")[0] ?? "");
    const commands = await firsts("");
    for (const word of ["run", "runs", "validate", "help"]) assert(commands.includes(word), word);
    assert.deepEqual(await firsts("keys", ""), ["create", "list", "revoke"]);
    assert((await firsts("run", "--")).includes("--detach"));
    assert(!(await firsts("run", "--detach", "--")).includes("--detach"));
    assert((await firsts("runs", "list", "-")).includes("--json"));
    assert.deepEqual(await firsts("keys", "create", "--role", ""), ["owner", "member", "viewer", "runner"]);
    assert.deepEqual(await at.offered("zsh", "run", ""), ["broken\thas problems", "hello\t"]);
    assert.deepEqual(await firsts("run", "hello", "--json", ""), ["broken"]);
    assert.deepEqual(await firsts("run", "--", "--"), ["broken", "hello"]);
    assert.deepEqual(await firsts("help", "keys", ""), ["create", "list", "revoke"]);
    assert.deepEqual(await firsts("org", ""), []);
    assert.deepEqual(await firsts("nonsense", "--wrong", ""), []);
  });

  it("is found without starting a service, and without a word of complaint", async () => {
    await using at = await withCommand(await toolbox());
    for (const line of [
      ["runs", "cancel", ""],
      ["keys", "list", "--org", ""],
      ["run", ""],
    ]) {
      assert.deepEqual(await at.offered("fish", ...line), []);
    }
    assert.deepEqual(await readdir(at.tool.data), []);
    await using other = await answering(500, "no");
    const wrong = { PIPELINE_BASE_URL: other.url, PIPELINE_API_KEY: "x" };
    const { stdout, stderr, exitCode } = await at.tool.run(
      ["__complete", "zsh", "runs", "cancel", ""],
      wrong,
    );
    assert.deepEqual([stdout, stderr, exitCode], ["", "", 0]);
  });

  it("is nothing, after a short while, where the service never answers", async () => {
    await using at = await withCommand(await toolbox());
    const silent = createServer();
    await new Promise<void>((resolve) => silent.listen(0, "127.0.0.1", resolve));
    const { port } = silent.address() as AddressInfo;
    const named = { PIPELINE_BASE_URL: `http://127.0.0.1:${port}`, PIPELINE_API_KEY: "x" };
    const { stdout, stderr, exitCode } = await at.tool.run(
      ["__complete", "fish", "runs", "cancel", ""],
      named,
    );
    assert.deepEqual([stdout, stderr, exitCode], ["", "", 0]);
    silent.close();
  });

  it("is known for each argument and option, or it is free text", () => {
    const free: string[] = [];
    for (const command of words().program.leaves()) {
      const wants = (name: string, choices: readonly string[] | undefined, kind: string) => {
        if (choices === undefined && kind === "anything") free.push(name);
      };
      for (const argument of command.registeredArguments) {
        wants(
          `${command.words()} ${argument.name()}`,
          argument.argChoices,
          kindOfArgument(command, argument),
        );
      }
      for (const option of command.options.filter(({ required }) => required)) {
        wants(`--${option.name()}`, option.argChoices, kindOfOption(option));
      }
    }
    const known = ["help command", "login base-url", "logout base-url"];
    const numbersAndTexts = [
      "max-runs",
      "parallel",
      "time-limit",
      "limit",
      "after",
      "since",
      "from",
      "step",
      "reserve",
      "tail",
      "port",
      "name",
      "database",
      "host",
      "service",
      "slots",
      "label",
    ];
    known.push(...[...numbersAndTexts, "retention-days"].map((name) => `--${name}`));
    assert.deepEqual(
      free.filter((each) => !known.includes(each)),
      [],
    );
  });

  it("is a run of the service that is running: one in work to cancel", async () => {
    await using at = await withCommand(await servedToolbox());
    await at.tool.write("long", programPipeline(untilCancelled));
    await at.tool.write("quick", programPipeline(""));
    await at.tool.call(["run", "quick"]);
    await at.tool.call(["run", "long", "--detach"]);
    const offered = await at.offered("fish", "runs", "cancel", "");
    assert.equal(offered.length, 1);
    assert.match(offered[0] ?? "", /^run_\w+\tlong, running$/);
  });

  it("is only what goes on from the word in bash, quoted as the word is", async () => {
    await using at = await withCommand(await toolbox());
    for (const org of [oddOrg, "we:ird=x", "Ümläut"]) {
      await at.tool.call(["keys", "create", "--role", "member", "--org", org]);
    }
    const tab = (line: string) => at.offered("bash", line, breaks);
    assert.deepEqual(await tab("pipeline keys list --org Ac"), [String.raw`Acme\ \&\ \"Co\"\ \$HOME\ it\'s`]);
    assert.deepEqual(await tab('pipeline keys list --org "Ac'), [String.raw`Acme & \"Co\" \$HOME it's`]);
    assert.deepEqual(await tab("pipeline keys list --org 'Ac"), [`Acme & "Co" $HOME it'\\''s`]);
    assert.deepEqual(await tab("pipeline keys list --org we:"), ["ird=x"]);
    assert.deepEqual(await tab("pipeline keys list --org=we:ird"), ["ird=x"]);
    assert.deepEqual(await tab("pipeline keys list --org Ü"), ["Ümläut"]);
    assert.deepEqual(await tab("pipeline keys list --org=A"), [String.raw`Acme\ \&\ \"Co\"\ \$HOME\ it\'s`]);
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

/** Each shell as a person starts it, without their settings, and how it comes to know the script. */
const started = {
  bash: { args: ["--norc", "--noprofile", "-i"], reads: 'eval "$(pipeline completion bash)"' },
  zsh: {
    args: ["-f", "-i"],
    reads: 'autoload -Uz compinit; compinit -u -D; eval "$(pipeline completion zsh)"',
  },
  fish: { args: ["--no-config"], reads: "pipeline completion fish | source" },
} as const satisfies Record<Shell, unknown>;

for (const shell of ["bash", "zsh", "fish"] as const) {
  const program = process.platform === "linux" ? await shellOf(shell) : undefined;
  if (program === undefined) continue;

  describe(`the Tab key in ${shell}`, () => {
    it("completes a pipeline, an option and an odd name, of a tool on the PATH or called by its path", async () => {
      await using at = await withCommand(await toolbox());
      await at.tool.write("hello", programPipeline(""));
      await at.tool.call(["keys", "create", "--role", "member", "--org", oddOrg]);
      const starts = ["Ac\t", '"Ac\t', "'Ac\t"];
      const lines = [
        "pipeline valid\the\t--js\t",
        ...starts.map((start) => `pipeline keys list --json --org ${start}`),
        "pipeline keys list --json --org=Ac\t",
      ];
      // A tool that is called by its path is completed as well.
      const paths = [at.command, "./bin/pipeline", "~/bin/pipeline"];
      lines.push(...paths.map((path) => `${path} validate he\t--json`));
      const typed = lines.map((line, index) => `${line} > out${index}`);
      await at.type(program, started[shell].args, [started[shell].reads, ...typed]);
      const taken = async (index: number) =>
        (await readFile(join(at.tool.project, `out${index}`), "utf8")).trimEnd().split("\n");
      const ofKeys = lines.length - paths.length;
      for (const index of [0, ...paths.map((_, path) => ofKeys + path)]) {
        assert.deepEqual(await taken(index), ["validate", "hello", "--json"], lines[index]);
      }
      for (let index = 1; index < ofKeys; index += 1) {
        const words = (await taken(index)).join(" ").replace("--org=", "--org ");
        assert.equal(words, `keys list --json --org ${oddOrg}`, lines[index]);
      }
    });

    it("takes the script without a complaint", async () => {
      await using at = await withCommand(await toolbox());
      const script = (await at.tool.call(["completion", shell])).stdout;
      await writeFile(join(at.tool.project, "script"), script);
      const { stderr, exitCode } = await at.shell(program, ["-n", "script"]);
      assert.deepEqual([stderr, exitCode], ["", 0]);
    });
  });
}
