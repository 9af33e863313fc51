import { readFileSync } from "node:fs";
import { mkdir, readdir, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { execa } from "execa";
import { endProcessesOf } from "../endProcessesOf.ts";
import { toolPath } from "../service/programs.ts";
import { TemporaryFolder } from "../temporaryFolder.ts";

/**
 * All that a person's programs can write to, in one folder: home, settings, data, cache, temporary files, a project, and
 * what every program has said. So whatever of a secret is left anywhere can be found by one search.
 */
export class World implements AsyncDisposable {
  readonly path: string;
  readonly project: string;
  readonly data: string;
  /** What programs have said, each in a file. */
  readonly said: string;
  /** The words of every process of this machine that was seen while a tool ran. */
  readonly commandLines = new Set<string>();
  readonly env: Readonly<Record<string, string>>;
  readonly #folder: TemporaryFolder;
  #told = 0;
  /** How many tools run, at which one look at a time is enough. */
  #living = 0;

  private constructor(folder: TemporaryFolder) {
    const at = (name: string) => join(folder.path, name);
    this.#folder = folder;
    this.path = folder.path;
    this.project = at("project");
    this.data = at("data");
    this.said = at("said");
    this.env = {
      PATH: process.env["PATH"] ?? "",
      HOME: at("home"),
      LOCALAPPDATA: at("home"),
      APPDATA: at("home"),
      TMPDIR: at("tmp"),
      TEMP: at("tmp"),
      TMP: at("tmp"),
      PIPELINE_DATA_DIR: this.data,
      PIPELINE_CONFIG_DIR: at("config"),
      PIPELINE_CACHE_DIR: at("cache"),
      // The mark by which `npm test` finds what a part has left behind.
      ...pick("XDG_PIPELINE_RUNS_TEST_MARK", "SystemRoot"),
    };
  }

  static async make(): Promise<World> {
    const world = new World(await TemporaryFolder.make("pipeline-runs-world"));
    for (const name of ["home", "tmp", "project/pipelines", "said", "reports"]) {
      await mkdir(join(world.path, name), { recursive: true });
    }
    return world;
  }

  pipeline(name: string, text: string): Promise<void> {
    return writeFile(join(this.project, "pipelines", `${name}.yaml`), text);
  }

  /** Keeps what was said where the search finds it. */
  tell(what: string, text: string): Promise<void> {
    return writeFile(join(this.said, `${String(++this.#told).padStart(3, "0")} ${what}`), text);
  }

  /** Starts the tool, which has nothing of the environment of whoever runs the tests. */
  spawn(args: readonly string[], env: Readonly<Record<string, string>> = {}, input?: string) {
    return execa(process.execPath, [toolPath, ...args], {
      cwd: this.project,
      ...(input === undefined ? { stdin: "ignore" } : { input }),
      encoding: "utf8",
      env: { ...this.env, ...env },
      extendEnv: false,
      reject: false,
    });
  }

  /** Runs the tool to its end, keeps what it said, and looks at the system's list of processes meanwhile. */
  async run(args: readonly string[], env: Readonly<Record<string, string>> = {}, input?: string) {
    const child = this.spawn(args, env, input);
    this.#living += 1;
    const looks = this.#living === 1 ? this.#lookOn() : undefined;
    const { exitCode, stdout, stderr } = await child;
    this.#living -= 1;
    await looks;
    await this.tell(
      args
        .join(" ")
        .replaceAll(/[^\w. -]/g, "_")
        .slice(0, 80),
      `${stdout}\n${stderr}`,
    );
    return { exitCode, stdout: String(stdout), stderr: String(stderr) };
  }

  async #lookOn(): Promise<void> {
    do await this.look();
    while (this.#living > 0);
  }

  /** Notes the words of all processes, which any user of the machine can see. A tool lives for some such looks. */
  async look(): Promise<void> {
    const ids = (await readdir("/proc").catch(() => [])).filter((name) => /^\d+$/.test(name));
    for (const id of ids) {
      try {
        // Awaited it takes ten times as long, and nothing here is read from a disk.
        this.commandLines.add(readFileSync(`/proc/${id}/cmdline`, "utf8"));
      } catch {
        // It has ended.
      }
    }
    await new Promise((resolve) => setTimeout(resolve, 100));
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await endProcessesOf(this.data);
    await this.#folder[Symbol.asyncDispose]();
  }
}

function pick(...names: readonly string[]): Record<string, string> {
  return Object.fromEntries(names.flatMap((name) => (process.env[name] ? [[name, process.env[name]]] : [])));
}
