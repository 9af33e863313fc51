import { join } from "node:path";
import { pathToFileURL } from "node:url";
import { anySignal } from "../../src/machine/anySignal.ts";
import { Problem } from "../problem.ts";
import { Program } from "../process/program.ts";
import type { EditorHost } from "./installHost.ts";
import { type BuiltinExtensions, folderArguments, keptSecret, serverEnvironment } from "./serverFolders.ts";

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
  /** Whether every folder is trusted without a question; so when left out. */
  readonly trustsAll?: boolean;
}

/** VS Code on a free port of the loopback interface, for whoever holds its token. */
export class EditorServer implements AsyncDisposable {
  /** Scheme, host and port. */
  readonly url: string;
  readonly port: number;
  readonly token: string;
  readonly #program: Program;

  private constructor(port: number, token: string, program: Program) {
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
    const { trustsAll = true } = options;
    const serverArguments = [
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
      new Program(process.execPath, serverArguments, { env: serverEnvironment(options.env) }),
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

  [Symbol.asyncDispose](): Promise<void> {
    return this.#program.stop();
  }
}

async function listeningPort(program: Program, signal: AbortSignal): Promise<number> {
  const patience = AbortSignal.timeout(millisecondsToListen);
  const listening = await program
    .outputMatching(/Extension host agent listening on (\d+)/, anySignal([signal, patience]))
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

/** The address that opens `folder` of this machine in the VS Code at `url`; the token becomes a cookie there. */
export function editorAddress(
  url: string,
  token: string,
  folder: string,
  query: Readonly<Record<string, string>> = {},
): string {
  const address = new URL(url);
  address.searchParams.set("tkn", token);
  address.searchParams.set("folder", decodeURIComponent(pathToFileURL(folder).pathname));
  for (const [name, value] of Object.entries(query)) address.searchParams.set(name, value);
  // A slash needs no escape in a query, and a person reads this.
  return address.href.replaceAll("%2F", "/");
}
