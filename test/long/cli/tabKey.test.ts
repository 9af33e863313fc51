import assert from "node:assert/strict";
import { chmod, mkdir, readFile, writeFile } from "node:fs/promises";
import { delimiter, join } from "node:path";
import { execa } from "execa";
import { aptInstall, canInstall, isExecutable } from "../../../scripts/process/aptInstall.ts";
import type { Shell } from "../../../src/cli/completion/scripts.ts";
import { type Toolbox, toolbox } from "../../cli/toolbox.ts";
import { programPipeline } from "../../service/startedService.ts";

const oddShop = `Acme & "Co" $HOME it's`;

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
    it("completes a pipeline, an option and an odd value, of a tool on the PATH or called by its path", async () => {
      await using at = await withCommand(await toolbox());
      await at.tool.write("hello", programPipeline(""));
      const inputs = { shop: { options: [oddShop] } };
      const steps = [{ use: "sh", run: "echo" }];
      await at.tool.write("sell", JSON.stringify({ inputs, resources: { sh: { type: "cli" } }, steps }));
      const starts = ["shop=Ac\t", '"shop=Ac\t', "'shop=Ac\t"];
      const lines = [
        "pipeline valid\the\t--js\t",
        ...starts.map((start) => `pipeline run sell --json --input ${start}`),
        "pipeline run sell --json --input=shop=Ac\t",
      ];
      // A tool that is called by its path is completed as well.
      const paths = [at.command, "./bin/pipeline", "~/bin/pipeline"];
      lines.push(...paths.map((path) => `${path} validate he\t--json`));
      const typed = lines.map((line, index) => `${line} > out${index}`);
      await at.type(program, started[shell].args, [started[shell].reads, ...typed]);
      const taken = async (index: number) =>
        (await readFile(join(at.tool.project, `out${index}`), "utf8")).trimEnd().split("\n");
      const ofInputs = lines.length - paths.length;
      for (const index of [0, ...paths.map((_, path) => ofInputs + path)]) {
        assert.deepEqual(await taken(index), ["validate", "hello", "--json"], lines[index]);
      }
      for (let index = 1; index < ofInputs; index += 1) {
        const words = (await taken(index)).join(" ").replace("--input=", "--input ");
        assert.equal(words, `run sell --json --input shop=${oddShop}`, lines[index]);
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

/** A shell's program, installed where that can be done; otherwise says why its tests are not there. */
async function shellOf(name: Shell): Promise<string | undefined> {
  if (process.platform === "win32") return undefined;
  const found = await find(name);
  if (found !== undefined) return found;
  try {
    if (await canInstall()) await aptInstall([name], "", AbortSignal.timeout(180_000));
  } catch (error) {
    console.log(error instanceof Error ? error.message : error);
  }
  const installed = await find(name);
  if (installed === undefined) console.log(`There is no ${name} here, so nothing is completed in it.`);
  return installed;
}

async function find(name: string): Promise<string | undefined> {
  for (const folder of (process.env["PATH"] ?? "").split(delimiter)) {
    if (folder !== "" && (await isExecutable(join(folder, name)))) return join(folder, name);
  }
  return undefined;
}
