import { X509Certificate } from "node:crypto";
import { readFile } from "node:fs/promises";
import { resolve } from "node:path";
import { checkServerIdentity, createSecureContext, getCACertificates, type PeerCertificate } from "node:tls";
import type { CookieJar } from "tough-cookie";
import { Agent, buildConnector, type Dispatcher, ProxyAgent } from "undici";
import { describeError } from "../../contract/errors.ts";
import { type ConnectTarget, connectTarget, problemOfConnect } from "../../pipeline/file/address.ts";
import { type HttpStep, isPem, problemOfProxy } from "../../pipeline/types/httpStep.ts";
import { lookingUp, type Peer } from "../step/network.ts";
import { projectFile } from "../step/projectFile.ts";
import { StepFault } from "../step/stepContext.ts";
import { isOwnOrigin } from "./request.ts";

/** Only the step's own timeout applies. */
export const unlimited = { connectTimeout: 0, headersTimeout: 0, bodyTimeout: 0 };

/** How long an idle connection is kept, in milliseconds: few servers close one within a second. */
const idle = 1000;
/** In bytes, of a reply's headers together: as much as browsers take. */
export const largestHeaders = 256 * 1024;
const options = {
  ...unlimited,
  connections: 1,
  keepAliveTimeout: idle,
  keepAliveMaxTimeout: idle,
  maxHeaderSize: largestHeaders,
};

/** How the servers of a resource are reached. */
interface Route {
  /** Makes the dispatcher that sends to an origin. */
  readonly dispatcherFor: (url: URL) => Dispatcher;
  /** What is connected to, for a message: the host, a proxy, or where `connect-to` leads. */
  readonly peerOf: (url: URL) => Peer;
  /** Opens a connection as a request would, and closes it. @throws Error as a request's. */
  readonly reach: (url: URL) => Promise<void>;
}

/** The connections of a resource, which its next steps reuse. */
export class Connection implements AsyncDisposable {
  readonly peerOf: Route["peerOf"];
  readonly #make: Route["dispatcherFor"];
  readonly #dispatchers = new Map<string, Dispatcher>();

  constructor({ dispatcherFor, peerOf }: Route) {
    this.#make = dispatcherFor;
    this.peerOf = peerOf;
  }

  /** @returns undefined where nothing was sent to the origin before. */
  used({ origin }: URL): Dispatcher | undefined {
    return this.#dispatchers.get(origin);
  }

  /** A dispatcher with a new connection to an origin, which replaces the earlier one. */
  fresh(url: URL): Dispatcher {
    this.end(url);
    const made = this.#make(url);
    this.#dispatchers.set(url.origin, made);
    return made;
  }

  /** Ends the connection to an origin, even one that is still being opened; its request then fails. */
  end(url: URL): void {
    void this.used(url)?.destroy();
    this.#dispatchers.delete(url.origin);
  }

  /** Also aborts connections that are still being opened. */
  async [Symbol.asyncDispose](): Promise<void> {
    await Promise.all([...this.#dispatchers.values()].map((dispatcher) => dispatcher.destroy()));
  }
}

/** What the steps of an http resource share in a run, as the pages of a browser do: its cookies. */
export class HttpSession implements AsyncDisposable {
  readonly #keepsCookies: boolean;
  #jar: CookieJar | undefined;

  constructor(keepsCookies = true) {
    this.#keepsCookies = keepsCookies;
  }

  /** @param written the cookies that a step sends itself; a kept cookie of the same name isn't sent too. */
  async cookiesFor(url: URL, written = ""): Promise<string> {
    const names = new Set(written.split(";").flatMap((cookie) => /^\s*([^=]*?)\s*=/.exec(cookie)?.[1] ?? []));
    const kept = (await this.#jar?.getCookies(url.href)) ?? [];
    return kept
      .filter(({ key }) => !names.has(key))
      .map((cookie) => cookie.cookieString())
      .join("; ");
  }

  cookies(url: URL): Record<string, string> {
    const kept = this.#jar?.getCookiesSync(url.href) ?? [];
    return Object.fromEntries(kept.map(({ key, value }) => [key, value]));
  }

  /** Keeps the cookies that a reply sets, except those that it may not set, as a browser does. */
  async keep(cookies: readonly string[], url: URL): Promise<void> {
    if (!this.#keepsCookies) return;
    if (this.#jar === undefined) {
      // It is large, and most runs need none.
      const { CookieJar } = await import("tough-cookie");
      this.#jar ??= new CookieJar(undefined, { looseMode: true });
    }
    for (const cookie of cookies) await this.#jar.setCookie(cookie, url.href, { ignoreError: true });
  }

  async [Symbol.asyncDispose](): Promise<void> {
    this.#jar = undefined;
  }
}

/**
 * Reads what a step's connections need of the project's files.
 * @throws StepFault when a file or an address can't be used.
 */
export async function routeOf(
  { connection, address }: Pick<HttpStep, "connection" | "address">,
  root: string,
): Promise<Route> {
  const { proxy, connectTo } = connection;
  const tls = await readTls(connection.tls, root);
  const optionsFor = (url: URL) => ({ ...tls.all, ...(isOwnOrigin(address.base, url) ? tls.own : {}) });
  if (proxy !== undefined) {
    if (problemOfProxy(proxy) !== undefined)
      throw new StepFault("`proxy` is no address of a proxy, such as `http://127.0.0.1:3128`");
    const { host, hostname } = new URL(proxy);
    return {
      dispatcherFor: (url) =>
        new ProxyAgent({
          ...options,
          uri: proxy,
          allowH2: true,
          requestTls: optionsFor(url),
          proxyTls: tls.all,
        }),
      peerOf: () => ({ host: `${host}, the resource's \`proxy\``, hostname }),
      reach: () => reach(buildConnector({ ...tls.all, timeout: 0 }), new URL(proxy)),
    };
  }
  for (const entry of Object.entries(connectTo)) {
    const problem = problemOfConnect(...entry);
    if (problem !== undefined) throw new StepFault(`\`connect-to\` has \`${entry.join(": ")}\`; ${problem}`);
  }
  const connectorFor = (url: URL) => connectorTo(connectTarget(connectTo, url), url, optionsFor(url), root);
  return {
    dispatcherFor: (url) => new Agent({ ...options, connect: connectorFor(url) }),
    reach: (url) => reach(connectorFor(url), url),
    peerOf: (url) => {
      const target = connectTarget(connectTo, url);
      if (target === undefined) return url;
      const hostname = target.kind === "socket" ? target.path : target.hostname;
      const port = target.kind === "socket" || target.port === undefined ? "" : `:${target.port}`;
      return { host: `${hostname}${port}, where \`connect-to\` leads ${url.host}`, hostname };
    },
  };
}

/** @returns the options for all servers, and the client certificate for the resource's own. */
async function readTls({ ca, cert, key, verify }: HttpStep["connection"]["tls"], root: string) {
  const read = async (value: string) =>
    isPem(value) ? value : readFile(await projectFile(root, value), "utf8");
  const own = cert === undefined || key === undefined ? {} : { cert: await read(cert), key: await read(key) };
  const authority = ca === undefined ? undefined : await read(ca);
  try {
    if (authority !== undefined) new X509Certificate(authority);
    createSecureContext(own);
  } catch (error) {
    throw new StepFault(`what \`tls\` names can't be used: ${describeError(error)}`);
  }
  return {
    own,
    all: {
      ...(authority !== undefined && { ca: [...getCACertificates("default"), authority] }),
      // Set only if off: Node's default heeds the environment.
      ...(!verify && { rejectUnauthorized: false }),
    },
  };
}

function reach(connect: buildConnector.connector, { host, hostname, port, protocol }: URL): Promise<void> {
  const { promise, resolve, reject } = Promise.withResolvers<void>();
  connect({ host, hostname: hostname.replace(/^\[|\]$/g, ""), port, protocol }, (error, socket) => {
    socket?.destroy();
    if (error === null) resolve();
    else reject(error);
  });
  return promise;
}

/** Connects to the target instead of the host of the request, whose certificate is expected all the same. */
function connectorTo(
  target: ConnectTarget | undefined,
  { hostname: wanted }: URL,
  tls: object,
  root: string,
): buildConnector.connector {
  const connect = buildConnector({
    ...tls,
    timeout: 0,
    allowH2: true,
    ...lookingUp(target?.kind === "host" ? target.hostname : wanted),
    ...(target?.kind === "socket" && { socketPath: resolve(root, target.path) }),
    // For an IP address, TLS sends no name, and would check the certificate for the host that it connects to.
    ...(target?.kind === "host" && {
      checkServerIdentity: (name: string, certificate: PeerCertificate) =>
        checkServerIdentity(name === target.hostname ? wanted.replace(/^\[|\]$/g, "") : name, certificate),
    }),
  });
  if (target?.kind !== "host") return connect;
  const { hostname, port } = target;
  return (options, callback) => connect({ ...options, hostname, port: port ?? options.port }, callback);
}
