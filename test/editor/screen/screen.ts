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
 * One window for the tests of the present `describe`: opened before them, closed after them, with a trace of the one that fails.
 * None comes after that one: each begins with what the one before it has left in the window.
 * @param prepare makes what the window needs and says how it is opened; what it puts into `held` ends after the window.
 * @param begin what is done in the window before the first test.
 */
export function screen(
  prepare: (held: AsyncDisposableStack) => Promise<WindowOptions>,
  begin: (window: EditorWindow) => Promise<void> = async () => {},
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
  let failed: string | undefined;
  beforeEach(function () {
    if (failed !== undefined) throw new Error(`"${failed}" has failed before`);
    this.currentTest?.timeout(120_000);
  });
  afterEach(function () {
    if (this.currentTest?.state === "failed") failed = this.currentTest.title;
  });
  after(async function () {
    this.timeout(120_000);
    await held.disposeAsync();
  });
  return shown;
}
