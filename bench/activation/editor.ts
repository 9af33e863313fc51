import { mkdir, readFile, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { setTimeout as pause } from "node:timers/promises";
import { execa } from "execa";
import type { Page } from "playwright-core";
import { installHost, installVsix } from "../../scripts/editor/installHost.ts";
import { projectRoot } from "../../scripts/projectRoot.ts";
import { sayToStandardError } from "../../scripts/say.ts";
import { type ServedEditor, servedEditor } from "../../test/editor/served/servedEditor.ts";
import { endProcessesOf } from "../../test/endProcessesOf.ts";
import { TemporaryFolder } from "../../test/temporaryFolder.ts";

export const ours = "pipeline-runs.pipeline-runs";
/** Extensions that do nothing, one of each kind of module; ours has a CommonJS entry, as most have. */
export const emptyCommonJs = "bench.empty";
export const emptyModule = "bench.empty-module";
/** Extensions of a few lines that show the day's runs; the other starts a server of a few lines first. */
export const floor = "bench.floor";
export const floorThatStarts = "bench.floor-starts";

export interface Times {
  /** When `activate` was called, in milliseconds since 1970. */
  readonly at: number;
  readonly load: number;
  readonly activate: number;
}

/** What the driver in a window's extension host has noted. */
export interface WindowNotes {
  readonly measured: Readonly<Record<string, Times>>;
  /** The modules that the extension host has loaded, the contestants' entries among them. */
  readonly loaded: readonly { readonly url: string; readonly bytes: number }[];
}

interface WindowPlan {
  /** The extensions to activate, one after the other. */
  readonly order: readonly string[];
  /** A window without pipelines has our extension ask nothing of a service. */
  readonly hasPipelines: boolean;
  /** How long a window is left alone before the modules that it has loaded are listed, in milliseconds. */
  readonly settleMilliseconds: number;
}

/** A VS Code with our extension, those beside which it is measured, and the driver that activates them. */
export class BenchEditor implements AsyncDisposable {
  /** The folder with pipelines. */
  readonly project: string;
  /** The service's data folder. */
  readonly data: string;
  readonly #work: string;
  readonly #editor: ServedEditor;
  readonly #held: AsyncDisposableStack;
  readonly #signal: AbortSignal;
  #page: Page;
  #windows = 0;

  private constructor(
    editor: ServedEditor,
    { work, data }: { readonly work: string; readonly data: string },
    held: AsyncDisposableStack,
    signal: AbortSignal,
  ) {
    this.#page = editor.page;
    this.project = join(work, "project");
    this.data = data;
    this.#work = work;
    this.#editor = editor;
    this.#held = held;
    this.#signal = signal;
  }

  static async start(signal: AbortSignal): Promise<BenchEditor> {
    await using held = new AsyncDisposableStack();
    const { path: work } = held.use(await TemporaryFolder.make("pipeline-runs-bench"));
    const { path: data } = held.use(await TemporaryFolder.make("pipeline-runs-bench-data"));
    held.defer(() => endProcessesOf(data));
    await mkdir(join(work, "project/pipelines"), { recursive: true });
    await writeFile(join(work, "project/pipelines/hello.yaml"), aPipeline);
    await mkdir(join(work, "empty-folder"));
    const env = { PIPELINE_DATA_DIR: data, PIPELINE_RUNS_BENCH: join(work, "plan.json") };
    const editor = held.use(
      await servedEditor({ smoke: false, extension: "package", folder: join(work, "project"), env }, signal),
    );
    const host = await installHost(sayToStandardError, signal);
    for (const vsix of await packageAll(work)) await installVsix(host, editor.dataFolder, vsix, signal);
    return new BenchEditor(editor, { work, data }, held.move(), signal);
  }

  /** The last window's. */
  get page(): Page {
    return this.#page;
  }

  /** Opens a window in the place of the one before, and waits for the driver's notes. */
  async openWindow({ hasPipelines, ...plan }: WindowPlan): Promise<WindowNotes> {
    const results = join(this.#work, "results.ndjson");
    await writeFile(join(this.#work, "plan.json"), JSON.stringify({ ...plan, results }));
    const folder = hasPipelines ? this.project : join(this.#work, "empty-folder");
    // A page that has shown many windows is slower than a new one, and the window's end has to be told to its host.
    const context = this.page.context();
    await this.page.goto("about:blank");
    await this.page.close();
    this.#page = await context.newPage();
    await this.page.goto(this.#editor.server.address(folder), { waitUntil: "domcontentloaded" });
    for (;;) {
      const notes = (await notesIn(results))[this.#windows];
      if (notes !== undefined) {
        this.#windows += 1;
        return notes;
      }
      await pause(20, undefined, { signal: this.#signal });
    }
  }

  [Symbol.asyncDispose](): Promise<void> {
    return this.#held.disposeAsync();
  }
}

/** A run that is still active when the screen has shown it. */
const aPipeline = "resources:\n  shell: { type: cli }\nsteps:\n  - use: shell\n    run: sleep 0.5\n";

async function notesIn(file: string): Promise<WindowNotes[]> {
  const text = await readFile(file, "utf8").catch(() => "");
  return text.split("\n").flatMap((line): WindowNotes[] => (line === "" ? [] : [JSON.parse(line)]));
}

async function packageAll(work: string): Promise<string[]> {
  const read = (name: string) => readFile(join(import.meta.dirname, name), "utf8");
  // Whatever is to do anything in the editor imports its API.
  const activate = "activate = () => {\n  void vscode.version;\n};\n";
  const floorFiles = { "floor.cjs": await read("floor.cjs"), "server.cjs": await read("server.cjs") };
  const command = { command: "bench.run", title: "Run the Floor" };
  return Promise.all([
    packaged(
      work,
      { name: "empty", main: "./main.cjs" },
      { "main.cjs": `const vscode = require("vscode");\nexports.${activate}` },
    ),
    packaged(
      work,
      { name: "empty-module", main: "./main.js", type: "module" },
      { "main.js": `import * as vscode from "vscode";\nexport const ${activate}` },
    ),
    packaged(work, { name: "floor", main: "./floor.cjs", contributes: { commands: [command] } }, floorFiles),
    packaged(work, { name: "floor-starts", main: "./floor.cjs", startsService: true }, floorFiles),
    packaged(
      work,
      { name: "driver", main: "./driver.cjs", activationEvents: ["*"] },
      { "driver.cjs": await read("driver.cjs") },
    ),
  ]);
}

/** Packages a small extension of the publisher `bench`. @returns the path of the `.vsix`. */
async function packaged(
  work: string,
  manifest: { readonly name: string } & Readonly<Record<string, unknown>>,
  files: Readonly<Record<string, string>>,
): Promise<string> {
  const folder = join(work, manifest.name);
  await mkdir(folder);
  const whole = {
    publisher: "bench",
    version: "1.0.0",
    engines: { vscode: "^1.105.0" },
    activationEvents: [],
    ...manifest,
  };
  await writeFile(join(folder, "package.json"), JSON.stringify(whole));
  for (const [name, text] of Object.entries(files)) await writeFile(join(folder, name), text);
  const out = join(work, `${manifest.name}.vsix`);
  const quietly = ["--no-dependencies", "--allow-missing-repository", "--skip-license"];
  await execa("vsce", ["package", ...quietly, "--out", out], {
    cwd: folder,
    preferLocal: true,
    localDir: projectRoot,
  });
  return out;
}
