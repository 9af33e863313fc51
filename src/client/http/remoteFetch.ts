import { Socket } from "node:net";
import { buildConnector, type Dispatcher, EnvHttpProxyAgent, fetch, Pool } from "undici";
import { PipelineError } from "../../contract/errors.ts";
import { isLoopback } from "../service/baseUrl.ts";
import type { Fetch } from "../service/request.ts";
import { type ProxyServer, proxyFault, refusedTunnel } from "./proxyFault.ts";

/** Less than a request may take, so that a silent proxy is told of as such. */
const connectMilliseconds = 8_000;

const variables = ["https_proxy", "HTTPS_PROXY", "http_proxy", "HTTP_PROXY"];

/** A `/`, `?` or `#` in a password would end the host too early, and the rest of the password would be shown as it. */
const proxyAddress = /^https?:\/\/[^/?#]+\/?$/i;

/**
 * Asks a service over https by undici, through the proxy that the environment names by undici's rules: `HTTPS_PROXY`,
 * else `HTTP_PROXY`, unless `NO_PROXY` names the host. This machine's own addresses have no proxy.
 *
 * @param connectWithin the milliseconds that a connection may take, and the answer of a proxy.
 * @throws PipelineError `invalid-request` that names the variable, and never its value, which may hold a password.
 */
export function remoteFetch(
  baseUrl: URL,
  env: Readonly<Record<string, string | undefined>>,
  connectWithin: number = connectMilliseconds,
): Fetch {
  const variable = isLoopback(baseUrl) ? "" : (variables.find((name) => env[name]) ?? "");
  const connecting = new Connecting();
  const connect = connecting.watched(buildConnector({ timeout: connectWithin, allowH2: false }));
  try {
    const httpsProxy = env[variable] ?? "";
    if (variable !== "" && !proxyAddress.test(httpsProxy)) throw new Error("no address");
    const dispatcher = new EnvHttpProxyAgent({
      httpProxy: "",
      httpsProxy,
      noProxy: env["no_proxy"] || env["NO_PROXY"] || "",
      clientFactory: (address) =>
        new TunnelPool({ address, variable }, baseUrl.hostname, { connect, headersTimeout: connectWithin }),
      connect,
      connectTimeout: connectWithin,
      allowH2: false,
      // Whoever asks has a deadline, and a held start or a stream may be silent for longer than undici allows.
      headersTimeout: 0,
      bodyTimeout: 0,
    });
    return (url, request) => connecting.during(() => fetch(url, { ...request, dispatcher }));
  } catch {
    // Without what was thrown, which may hold the password.
    throw new PipelineError("invalid-request", `${variable} is not the address of an http or https proxy.`, {
      next: `Write ${variable} like http://proxy.example:3128, with special characters of a password percent-encoded, or unset it.`,
    });
  }
}

/**
 * The connections that are being made. undici doesn't end one whose request was aborted (nodejs/undici 4405): it is
 * ended here once nobody waits for an answer, so that it keeps no program from ending.
 */
class Connecting {
  readonly #sockets = new Set<Socket>();
  #waiting = 0;

  watched(connect: buildConnector.connector): buildConnector.connector {
    return (options, callback) => {
      const socket: unknown = connect(options, callback);
      if (!(socket instanceof Socket)) return;
      const isMade = (): void => void this.#sockets.delete(socket);
      this.#sockets.add(socket.once("connect", isMade).once("close", isMade));
      // What a proxy or TLS takes is for the deadlines of those who wait.
      socket.unref();
    };
  }

  async during<T>(ask: () => Promise<T>): Promise<T> {
    this.#waiting += 1;
    try {
      return await ask();
    } finally {
      this.#waiting -= 1;
      if (this.#waiting === 0) {
        for (const socket of this.#sockets) socket.destroy(new Error("nobody waits for it any more"));
      }
    }
  }
}

/** The connections to a proxy, which tell what it did when it makes no tunnel. */
class TunnelPool extends Pool {
  readonly #proxy: ProxyServer;
  readonly #host: string;

  constructor(proxy: ProxyServer, host: string, options: Pool.Options) {
    super(proxy.address.origin, options);
    this.#proxy = proxy;
    this.#host = host;
  }

  override async connect(
    options: Omit<Dispatcher.ConnectOptions, "origin">,
  ): Promise<Dispatcher.ConnectData> {
    const tunnel = await super.connect(options).catch((error: unknown) => {
      throw proxyFault(this.#proxy, this.#host, error);
    });
    if (tunnel.statusCode === 200) return tunnel;
    tunnel.socket.on("error", () => undefined).destroy();
    throw refusedTunnel(this.#proxy, this.#host, tunnel);
  }
}
