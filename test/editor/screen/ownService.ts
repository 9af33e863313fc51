import { type Toolbox, toolbox } from "../../cli/toolbox.ts";
import type { EditorWindow } from "./editorWindow.ts";
import type { WindowOptions } from "./openWindow.ts";
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

interface OwnServiceOptions {
  /** How the window is opened beyond that; it may put files into the workspace first. */
  readonly prepare?: (workspace: string, held: AsyncDisposableStack) => Promise<Partial<WindowOptions>>;
  readonly begin?: (window: EditorWindow) => Promise<void>;
}

/** A screen for the tests of the present `describe`: a workspace with pipelines, and a service of its own as this machine's. */
export function ownService({ prepare = async () => ({}), begin }: OwnServiceOptions = {}): OwnService {
  const made: { workspace?: string; tool?: Toolbox } = {};
  const shown = screen(
    async (held) => {
      const { path: folder } = held.use(await testWorkspace());
      const tool = held.use(await toolbox());
      Object.assign(made, { workspace: folder, tool });
      const { env, ...more } = await prepare(folder, held);
      return { folder, env: { PIPELINE_DATA_DIR: tool.data, ...env }, ...more };
    },
    begin,
    () => there(made.tool).call(["runs", "cancel", "--mine"]),
  );
  return {
    get window() {
      return shown.window;
    },
    get workspace() {
      return there(made.workspace);
    },
    get tool() {
      return there(made.tool);
    },
  };
}

function there<Thing>(thing: Thing | undefined): Thing {
  if (thing === undefined) throw new Error("It is made before the first test");
  return thing;
}
