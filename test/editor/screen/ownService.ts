import assert from "node:assert/strict";
import { type Toolbox, toolbox } from "../../cli/toolbox.ts";
import type { EditorWindow, WindowOptions } from "./editorWindow.ts";
import { screen } from "./screen.ts";
import { testWorkspace } from "./workspace.ts";

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
  prepare: (workspace: string, held: AsyncDisposableStack) => Promise<WindowOptions> = async () => ({}),
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
