import { randomBytes } from "node:crypto";
import { EditorServer } from "../../../scripts/editor/editorServer.ts";
import { installHost, installVsix } from "../../../scripts/editor/installHost.ts";
import {
  type BuiltinExtensions,
  listExtension,
  quietSettings,
  writeFirstSettings,
} from "../../../scripts/editor/serverFolders.ts";
import { projectRoot, vsixFile } from "../../../scripts/projectRoot.ts";
import { sayToStandardError } from "../../../scripts/say.ts";
import { TemporaryFolder } from "../../temporaryFolder.ts";
import { launchBrowser } from "./launchBrowser.ts";

export interface ServedEditorOptions {
  /** VS Code's test driver; see EditorServerOptions. */
  readonly smoke: boolean;
  /** The extension that is installed first: its package as users get it, or as it lies built in the checkout. */
  readonly extension?: "package" | "checkout";
  /** The workspace; an empty folder of this editor's own when left out. */
  readonly folder?: string;
  /** The user's settings, beside those that keep the window quiet. */
  readonly settings?: Readonly<Record<string, unknown>>;
  /** Changes to the environment of the extension host and the terminals. */
  readonly env?: NodeJS.ProcessEnv;
  /** Off when left out: a window without VS Code's own extensions opens faster. */
  readonly builtinExtensions?: BuiltinExtensions;
  readonly trustsAll?: boolean;
}

export type ServedEditor = Awaited<ReturnType<typeof servedEditor>>;

/**
 * A VS Code with no memory of an earlier one, and an empty page of a browser to open it in. Both are installed first where they
 * are missing, which takes a minute or two.
 */
export async function servedEditor(options: ServedEditorOptions, signal: AbortSignal) {
  await using held = new AsyncDisposableStack();
  const { path: dataFolder } = held.use(await TemporaryFolder.make("pipeline-runs-editor"));
  const folder = options.folder ?? held.use(await TemporaryFolder.make("pipeline-runs-workspace")).path;
  const host = await installHost(sayToStandardError, signal);
  const settings: Readonly<Record<string, unknown>> = { ...quietSettings, ...options.settings };
  await writeFirstSettings(dataFolder, settings);
  if (options.extension === "package") await installVsix(host, dataFolder, vsixFile, signal);
  if (options.extension === "checkout") await listExtension(dataFolder, projectRoot);
  const { smoke, builtinExtensions = false, env = {}, trustsAll = true } = options;
  const server = held.use(
    await EditorServer.start({ host, dataFolder, smoke, builtinExtensions, env, trustsAll }, signal),
  );
  const browser = held.use(await launchBrowser(signal));
  // What moves on the screen is drawn anew many times a second, and nothing waits for it.
  const context = await browser.newContext({
    viewport: { width: 1280, height: 800 },
    reducedMotion: "reduce",
  });
  // VS Code asks for the key of its secrets, which `npm start`'s front door gives.
  const body = randomBytes(32);
  await context.route("**/mint-key", (route) =>
    route.fulfill({ status: 200, contentType: "application/octet-stream", body }),
  );
  const page = await context.newPage();
  const all = held.move();
  return {
    page,
    server,
    folder,
    /** Where this VS Code keeps its settings, its installed extensions and its logs. */
    dataFolder,
    /** The user's settings as they were first. */
    settings,
    [Symbol.asyncDispose]: () => all.disposeAsync(),
  };
}
