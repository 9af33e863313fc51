import { join } from "node:path";
import { Problem } from "../problem.ts";
import { Leashed } from "../process/leashed.ts";
import { editorAddress } from "./editorAddress.ts";
import type { EditorHost } from "./installHost.ts";
import { keptSecret } from "./keptSecret.ts";
import { serverEnvironment } from "./serverEnvironment.ts";
import { type BuiltinExtensions, folderArguments } from "./serverFolders.ts";

const millisecondsToListen = 60_000;

interface EditorServerOptions {
  readonly host: EditorHost;
  /** Settings, installed extensions and logs. One running server a folder. */
  readonly dataFolder: string;
  /** VS Code's own test driver: an extension under development and its tests load, and toasts are switched off. */
  readonly smoke: boolean;
  /** Themes, languages, Git and the like. Without them a window opens faster. */
  readonly builtinExtensions: BuiltinExtensions;
  /** Changes to this process's environment, for the extension host and the terminals. */
  readonly env?: NodeJS.ProcessEnv;
  /** Arguments of Node.js itself, for the server and its extension hosts, which drop NODE_OPTIONS. */
  readonly nodeArguments?: readonly string[];
  /** Whether every folder is trusted without a question; so when left out. */
  readonly trustsAll?: boolean;
}

/** VS Code on a free port of the loopback interface, for whoever holds its token. */
export class EditorServer implements AsyncDisposable {
  /** Scheme, host and port. */
  readonly url: string;
  readonly port: number;
  readonly token: string;
  readonly #program: Leashed;

  private constructor(port: number, token: string, program: Leashed) {
    this.url = `http://127.0.0.1:${port}`;
    this.port = port;
    this.token = token;
    this.#program = program;
  }

  /**
   * Starts the server and waits until it listens.
   * @throws Problem when it doesn't; the signal's reason when it is aborted. Then nothing of it is left running.
   */
  static async start(options: EditorServerOptions, signal: AbortSignal): Promise<EditorServer> {
    const tokenFile = join(options.dataFolder, "connection-token");
    // Any page in the same browser can reach a loopback port; without a token it would reach a terminal.
    const token = await keptSecret(tokenFile);
    const { nodeArguments = [], trustsAll = true } = options;
    const serverArguments = [
      ...nodeArguments,
      options.host.serverMain,
      ...["--host", "127.0.0.1", "--port", "0", "--connection-token-file", tokenFile],
      ...(await folderArguments(options.dataFolder, options.builtinExtensions, options.host.serverMain)),
      // It opens the project's own samples and tests, which may run their tasks at once.
      ...(trustsAll ? ["--disable-workspace-trust"] : []),
      ...["--telemetry-level", "off", "--accept-server-license-terms"],
      ...(options.smoke ? ["--enable-smoke-test-driver"] : []),
    ];
    await using cleanUp = new AsyncDisposableStack();
    const program = cleanUp.use(
      new Leashed(process.execPath, serverArguments, { env: serverEnvironment(options.env) }),
    );
    const port = await listeningPort(program, signal);
    cleanUp.move();
    return new EditorServer(port, token.toString("hex"), program);
  }

  /** Where a browser finds a folder of this machine opened. */
  address(folder: string, query: Readonly<Record<string, string>> = {}): string {
    return editorAddress(this.url, this.token, folder, query);
  }

  /** Resolves when the server's processes are gone, for whatever reason. */
  get exited(): Promise<unknown> {
    return this.#program.exited;
  }

  /** The end of what the server wrote. */
  get output(): string {
    return this.#program.output;
  }

  stop(): Promise<void> {
    return this.#program.stop();
  }

  [Symbol.asyncDispose](): Promise<void> {
    return this.stop();
  }
}

async function listeningPort(program: Leashed, signal: AbortSignal): Promise<number> {
  const patience = AbortSignal.timeout(millisecondsToListen);
  const listening = await program
    .outputMatching(/Extension host agent listening on (\d+)/, AbortSignal.any([signal, patience]))
    .catch((error: unknown) => {
      if (signal.aborted || !patience.aborted) throw error;
      return undefined;
    });
  if (listening !== undefined) return Number(listening[1]);
  throw new Problem(
    patience.aborted
      ? `VS Code's server did not listen within ${millisecondsToListen / 1000} s.`
      : "VS Code's server ended before it listened.",
    `It wrote:\n${program.output.trimEnd() || "(nothing)"}`,
  );
}
