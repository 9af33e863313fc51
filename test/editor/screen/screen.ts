import type { EditorWindow } from "./editorWindow.ts";
import { openWindow, type WindowOptions } from "./openWindow.ts";
import { traceFailures } from "./traceFailures.ts";

/** The window that the tests of a `describe` look at. */
export class Screen {
  #window: EditorWindow | undefined;

  /** @throws when it is asked for before it has been opened. */
  get window(): EditorWindow {
    if (this.#window === undefined) throw new Error("The window of these tests was not opened");
    return this.#window;
  }

  /** Undefined until it is open. */
  get opened(): EditorWindow | undefined {
    return this.#window;
  }

  async open(options: WindowOptions): Promise<EditorWindow> {
    this.#window = await openWindow(options);
    return this.#window;
  }
}

/**
 * One window for the tests of the present `describe`: opened before them, closed after them, with a trace of each that fails.
 * @param prepare makes what the window needs and says how it is opened; what it puts into `held` ends after the window.
 * @param begin what is done in the window before the first test.
 * @param settle what is done, beside {@link EditorWindow.settle}, after a test that failed, so that the next one stands on its own.
 */
export function screen(
  prepare: (held: AsyncDisposableStack) => Promise<WindowOptions>,
  begin: (window: EditorWindow) => Promise<void> = async () => {},
  settle: () => Promise<unknown> = async () => {},
): Screen {
  const held = new AsyncDisposableStack();
  const shown = new Screen();
  traceFailures(() => shown.opened);
  before(async function () {
    this.timeout(300_000);
    const window = await shown.open(await prepare(held));
    held.use(window);
    await begin(window);
  });
  beforeEach(function () {
    this.currentTest?.timeout(120_000);
  });
  afterEach(async function () {
    this.timeout(120_000);
    if (this.currentTest?.state !== "failed") return;
    await settle();
    await shown.window.settle();
  });
  after(async function () {
    this.timeout(120_000);
    await held.disposeAsync();
  });
  return shown;
}
