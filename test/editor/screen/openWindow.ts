import { ServedEditor, type ServedEditorOptions } from "../served/servedEditor.ts";
import { EditorWindow } from "./editorWindow.ts";

/** As for any served editor; but what is on the screen is what users get, so it comes from the package. */
interface WindowOptions extends Omit<ServedEditorOptions, "smoke"> {
  readonly vsix: string;
}

/** Opens a VS Code of its own in a browser and waits until its window shows. */
export async function openWindow(
  options: WindowOptions,
  signal: AbortSignal = new AbortController().signal,
): Promise<EditorWindow> {
  // The test driver would switch the toasts off.
  const window = new EditorWindow(await ServedEditor.start({ ...options, smoke: false }, signal));
  try {
    await window.open();
    return window;
  } catch (error) {
    await window.keepTrace("a window that did not open").catch(() => {});
    await window[Symbol.asyncDispose]();
    throw error;
  }
}
