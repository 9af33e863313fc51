import type { Page } from "playwright-core";
import { EditorServer } from "../../../scripts/editor/editorServer.ts";
import { installHost } from "../../../scripts/editor/installHost.ts";
import {
  type BuiltinExtensions,
  listExtension,
  quietSettings,
  writeFirstSettings,
} from "../../../scripts/editor/serverFolders.ts";
import { projectRoot, vsixFile } from "../../../scripts/projectRoot.ts";
import { sayToStandardError } from "../../../scripts/say.ts";
import { TemporaryFolder } from "../../temporaryFolder.ts";
import { answerMintKey } from "./answerMintKey.ts";
import { installedOnce } from "./installedOnce.ts";
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
  /** See EditorServerOptions. */
  readonly nodeArguments?: readonly string[];
  readonly trustsAll?: boolean;
}

/** A VS Code with no memory of an earlier one, and an empty page of a browser to open it in. */
export class ServedEditor implements AsyncDisposable {
  readonly page: Page;
  readonly folder: string;
  /** Where this VS Code keeps its settings, its installed extensions and its logs. */
  readonly dataFolder: string;
  readonly #held: AsyncDisposableStack;
  readonly #startServer: (signal: AbortSignal) => Promise<EditorServer>;
  #server: EditorServer;

  private constructor(
    page: Page,
    server: EditorServer,
    startServer: (signal: AbortSignal) => Promise<EditorServer>,
    folder: string,
    dataFolder: string,
    held: AsyncDisposableStack,
  ) {
    this.page = page;
    this.#server = server;
    this.#startServer = startServer;
    this.folder = folder;
    this.dataFolder = dataFolder;
    this.#held = held;
  }

  /** Installs VS Code and the browser first where they are missing, which takes a minute or two. */
  static async start(options: ServedEditorOptions, signal: AbortSignal): Promise<ServedEditor> {
    await using held = new AsyncDisposableStack();
    const { path: dataFolder } = held.use(await TemporaryFolder.make("pipeline-runs-editor"));
    const folder = options.folder ?? held.use(await TemporaryFolder.make("pipeline-runs-workspace")).path;
    const host = await installHost(sayToStandardError, signal);
    await writeFirstSettings(dataFolder, { ...quietSettings, ...options.settings });
    if (options.extension === "package") await installedOnce(host, dataFolder, vsixFile, signal);
    if (options.extension === "checkout") await listExtension(dataFolder, projectRoot);
    const { smoke, builtinExtensions = false, env = {}, nodeArguments = [], trustsAll = true } = options;
    const serverOptions = {
      host,
      dataFolder,
      smoke,
      builtinExtensions,
      env,
      nodeArguments,
      trustsAll,
    };
    const server = held.use(await EditorServer.start(serverOptions, signal));
    const browser = await launchBrowser(signal);
    held.defer(() => browser.close());
    // What moves on the screen is drawn anew many times a second, and nothing waits for it.
    const context = await browser.newContext({
      viewport: { width: 1280, height: 800 },
      reducedMotion: "reduce",
    });
    await answerMintKey(context);
    const page = await context.newPage();
    const kept = held.move();
    const startAnew = async (until: AbortSignal) => kept.use(await EditorServer.start(serverOptions, until));
    return new ServedEditor(page, server, startAnew, folder, dataFolder, kept);
  }

  get server(): EditorServer {
    return this.#server;
  }

  /** Begins the server anew, with the same data, where its processes were killed: at another address. */
  async restartServer(signal: AbortSignal): Promise<void> {
    await this.#server.stop();
    this.#server = await this.#startServer(signal);
  }

  [Symbol.asyncDispose](): Promise<void> {
    return this.#held.disposeAsync();
  }
}
