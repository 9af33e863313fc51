import { ServedEditor, type ServedEditorOptions } from "../served/servedEditor.ts";
import { EditorWindow } from "./editorWindow.ts";

export interface WindowOptions extends Omit<ServedEditorOptions, "smoke"> {
  /** Runs in the page before anything of VS Code does. */
  readonly script?: string;
  /** The most that any part of the editor can log. */
  readonly logsAll?: boolean;
}

/** Opens a VS Code of its own in a browser and waits until its window shows. */
export async function openWindow(
  { script, logsAll = false, ...options }: WindowOptions,
  signal: AbortSignal = new AbortController().signal,
): Promise<EditorWindow> {
  // The test driver would switch the toasts off.
  const window = new EditorWindow(
    await ServedEditor.start({ extension: "package", ...options, smoke: false }, signal),
  );
  try {
    if (script !== undefined) await window.page.addInitScript(script);
    await window.open(logsAll ? { payload: JSON.stringify([["logLevel", "trace"]]) } : {});
    return window;
  } catch (error) {
    await window.keepTrace("a window that did not open").catch(() => {});
    await window[Symbol.asyncDispose]();
    throw error;
  }
}
