import assert from "node:assert/strict";
import { EditorWindow, type WindowOptions } from "./editorWindow.ts";

/**
 * One window for the tests of the present `describe`: opened before them, closed after them. A test that fails leaves a trace
 * of the window, and the window as the next one needs it.
 * @param prepare makes what the window needs and says how it is opened; what it puts into `held` ends after the window.
 * @param settle ends what a test that failed may have left at work outside the window.
 * @returns the window, once it is open.
 */
export function screen(
  prepare: (held: AsyncDisposableStack) => Promise<WindowOptions>,
  settle: () => Promise<unknown> = async () => {},
): () => EditorWindow {
  const held = new AsyncDisposableStack();
  let window: EditorWindow | undefined;
  const shown = () => window ?? assert.fail("the window is opened before the first test");
  before(async function () {
    this.timeout(300_000);
    window = held.use(await EditorWindow.start(await prepare(held)));
  });
  afterEach(async function () {
    if (this.currentTest?.state !== "failed") return;
    const folder = await shown().keepTrace(this.currentTest.fullTitle());
    console.error(`      what the screen showed is in ${folder}`);
    await settle();
    await shown().settle();
  });
  after(async () => {
    await held.disposeAsync();
  });
  return shown;
}
