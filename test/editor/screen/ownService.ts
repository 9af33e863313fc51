import assert from "node:assert/strict";
import { mkdir, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { type Toolbox, toolbox } from "../../cli/toolbox.ts";
import { programPipeline, untilCancelled, writePid } from "../../service/startedService.ts";
import { TemporaryFolder } from "../../temporaryFolder.ts";
import type { EditorWindow, WindowOptions } from "./editorWindow.ts";
import { screen } from "./screen.ts";

export interface OwnService {
  /** The window that shows the workspace. */
  readonly window: EditorWindow;
  /** The folder that the window shows. */
  readonly workspace: string;
  /** The tool, of the same service as the window. */
  readonly tool: Toolbox;
}

/**
 * A screen for the tests of the present `describe`: a workspace with pipelines, and a service of its own as this machine's.
 * What is returned is there once the first test begins.
 * @param prepare says how the window is opened beyond that; it may put files into the workspace first.
 */
export function ownService(
  prepare: (workspace: string, held: AsyncDisposableStack) => Promise<WindowOptions>,
): OwnService {
  let made: Pick<OwnService, "workspace" | "tool"> | undefined;
  const there = () => made ?? assert.fail("they are made before the first test");
  const window = screen(
    async (held) => {
      const { path: folder } = held.use(await testWorkspace());
      const tool = held.use(await toolbox());
      made = { workspace: folder, tool };
      const { env, ...prepared } = await prepare(folder, held);
      return { folder, env: { PIPELINE_DATA_DIR: tool.data, ...env }, ...prepared };
    },
    () => there().tool.call(["runs", "cancel", "--mine"]),
  );
  return {
    get window() {
      return window();
    },
    get workspace() {
      return there().workspace;
    },
    get tool() {
      return there().tool;
    },
  };
}

/** A workspace of a test's own: pipelines that end at once, that end only when cancelled, and one that is broken. */
async function testWorkspace(): Promise<TemporaryFolder> {
  const folder = await TemporaryFolder.make("pipeline-runs-workspace");
  await mkdir(join(folder.path, "pipelines"));
  const write = (name: string, text: string) =>
    writeFile(join(folder.path, "pipelines", `${name}.yaml`), text);
  await write("hello", programPipeline("console.log('hello')"));
  await write("fails", programPipeline("console.log('it is broken'); process.exit(3)"));
  await write("long", programPipeline(`${writePid} ${untilCancelled}`, "10m"));
  await write("broken", "resources:\n  shell: { type: clii }\nsteps:\n  - use: shell\n    run: true\n");
  return folder;
}
