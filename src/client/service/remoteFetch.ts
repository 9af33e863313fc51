import { Socket } from "node:net";
import { buildConnector, type Dispatcher, EnvHttpProxyAgent, fetch, Pool } from "undici";
import { PipelineError } from "../../contract/errors.ts";
import type { Environment } from "../../project/environment.ts";
import { foreignText } from "./foreignText.ts";
import { faultAt, OutOfReach } from "./reachFaults.ts";
import { type Fetch, isLoopback } from "./request.ts";

/** Shorter than a request's time limit, so that a silent proxy is reported as the cause. */
const connectMilliseconds = 8_000;

const variables = ["https_proxy", "HTTPS_PROXY", "http_proxy", "HTTP_PROXY"];

/** Rejects `/`, `?` and `#` in a password, which end the host early: messages would show a part of it as the host. */
const proxyAddress = /^https?:\/\/[^/?#]+\/?$/i;

/**
 * A `fetch` over https by undici, through the proxy that the environment names by undici's rules: `HTTPS_PROXY`, else
 * `HTTP_PROXY`, unless `NO_PROXY` names the host. Loopback addresses are reached without a proxy.
 *
 * @param connectWithin the time limit of a connection, and of a proxy's reply, in milliseconds.
 * @throws PipelineError `invalid-request` that names the variable, and never its value, which may hold a password.
 */
export function remoteFetch(
  baseUrl: URL,
  env: Environment,
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
      // Callers have deadlines; a held start request or a stream may be silent for longer than undici's limits.
      headersTimeout: 0,
      bodyTimeout: 0,
    });
    return (url, request) => connecting.during(() => fetch(url, { ...request, dispatcher }));
  } catch {
    // Without a `cause`, which may hold the password.
    throw new PipelineError("invalid-request", `${variable} is not the address of an http or https proxy.`, {
      next: `Write ${variable} like http://proxy.example:3128, with special characters of a password percent-encoded, or unset it.`,
    });
  }
}

/**
 * The connections that are being opened. undici leaves one open when its request is aborted (nodejs/undici 4405), so it is
 * destroyed here once no request waits, which lets the program exit.
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
      // The requests' own deadlines limit the time of the proxy and of TLS.
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

/** A proxy's connections, whose errors say why there is no tunnel. */
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

interface ProxyServer {
  /** May hold a user name and a password, which no message shows. */
  readonly address: URL;
  /** The environment variable that names it. */
  readonly variable: string;
}

/** The error for a proxy that can't be reached, or fails before it replies. */
function proxyFault(proxy: ProxyServer, host: string, cause: unknown): OutOfReach {
  const { fault, message, next } = faultAt(called(proxy), cause, Date.now());
  return new OutOfReach(fault, sentence(message), {
    cause,
    next: fault === "tls" ? next : checkProxy(proxy, host),
  });
}

/** The error for a proxy that refuses a tunnel to the host. */
function refusedTunnel(
  proxy: ProxyServer,
  host: string,
  { statusCode, headers }: Pick<Dispatcher.ConnectData, "statusCode" | "headers">,
): OutOfReach {
  const asksFor = (what: string, next: string) =>
    new OutOfReach("proxy", sentence(`${called(proxy)} asks for ${what}.`), { next });
  if (statusCode === 407) {
    const { address, variable } = proxy;
    const offered = foreignText(String(headers["proxy-authenticate"] ?? "Basic"), "");
    if (!/\bbasic\b/i.test(offered)) {
      return asksFor(
        `${offered}, which can't be answered`,
        `Name a proxy in ${variable} that takes a user name and a password, or none.`,
      );
    }
    const others = address.username === "" ? "" : " other than those that it was sent";
    return asksFor(
      `a user name and a password${others}`,
      `Write ${variable} like http://user:password@${address.host}, with special characters percent-encoded.`,
    );
  }
  if (statusCode >= 502 && statusCode <= 504) {
    const told = `${called(proxy)} could not reach ${host}: it answered ${statusCode}.`;
    return new OutOfReach("unavailable", sentence(told), {
      next: "Check the base URL, or try again later.",
    });
  }
  const told = `${called(proxy)} doesn't let requests through to ${host}: it answered ${statusCode}.`;
  return new OutOfReach("proxy", sentence(told), { next: checkProxy(proxy, host) });
}

function called({ address, variable }: ProxyServer): string {
  return `the proxy ${address.host} (${variable})`;
}

function checkProxy({ variable }: ProxyServer, host: string): string {
  return `Check ${variable}, or name ${host} in NO_PROXY if it can be reached without a proxy.`;
}

function sentence(text: string): string {
  return text.replace(/^the /, "The ");
}
