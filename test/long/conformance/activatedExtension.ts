import { rmSync } from "node:fs";
import { mkdtemp } from "node:fs/promises";
import { registerHooks } from "node:module";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { pathToFileURL } from "node:url";
import { projectRoot } from "../../../scripts/projectRoot.ts";
import { editor } from "./editorStub.ts";

/** The built extension, activated as an editor does it, over a stand-in of the editor's module. */
export async function activatedExtension() {
  const stub = new URL("./editorStub.ts", import.meta.url).href;
  const hooks = registerHooks({
    resolve: (specifier, context, next) =>
      specifier === "vscode" ? { url: stub, format: "module", shortCircuit: true } : next(specifier, context),
  });
  const { activate } = await import(pathToFileURL(join(projectRoot, "dist/extension.cjs")).href);
  const subscriptions: { dispose(): unknown }[] = [];
  const kept = new Map<string, unknown>();
  const workspaceState = {
    get: (name: string) => kept.get(name),
    update: async (name: string, value: unknown) => void kept.set(name, value),
  };
  const environmentVariableCollection = { get: () => undefined, append: () => {}, replace: () => {} };
  const storage = await mkdtemp(join(tmpdir(), "pipeline-runs-storage-"));
  activate({
    subscriptions,
    secrets: editor.secrets.storage,
    workspaceState,
    globalStorageUri: { fsPath: storage },
    extensionPath: projectRoot,
    extension: { packageJSON: { contributes: { commands: [] } } },
    environmentVariableCollection,
  });
  return {
    ...editor,
    /** Runs a command as the palette does. */
    execute: async (id: string): Promise<void> => {
      const act = editor.commands.get(id);
      if (act === undefined) throw new Error(`no command ${id} is registered`);
      await act();
    },
    /** The first thing shown, from the count given on, that is accepted. */
    async until(accept: (shown: (typeof editor.shown.all)[number]) => boolean, from = 0) {
      for (let looked = from; ; looked++) {
        const shown = (await editor.shown.atLeast(looked + 1))[looked];
        if (shown !== undefined && accept(shown)) return shown;
      }
    },
    [Symbol.dispose]() {
      for (const part of subscriptions.toReversed()) part.dispose();
      // Its chunks are loaded as they are wanted.
      hooks.deregister();
      rmSync(storage, { recursive: true, force: true });
    },
  };
}
