import type { EditorWindow } from "./editorWindow.ts";

/** Keeps a trace of the window whenever a test of the present `describe` fails, and says where. */
export function traceFailures(window: () => EditorWindow | undefined): void {
  afterEach(async function () {
    const failed = this.currentTest;
    if (failed?.state !== "failed") return;
    const folder = await window()?.keepTrace(failed.fullTitle());
    if (folder !== undefined) console.error(`      what the screen showed is in ${folder}`);
  });
}
