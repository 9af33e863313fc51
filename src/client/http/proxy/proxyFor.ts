import { PipelineError } from "../../../contract/errors.ts";
import { isLoopback } from "../baseUrl.ts";
import { isExempt } from "./noProxy.ts";

/** A proxy that requests go through, and the variable of the environment that names it. */
export interface ProxyServer {
  readonly protocol: "http:" | "https:";
  /** Without the brackets of an IPv6 address. */
  readonly hostname: string;
  readonly port: number;
  /** Host and port as people write them; never a user name or a password. */
  readonly host: string;
  readonly variable: string;
  /** The value of `Proxy-Authorization`, when the variable holds a user name. */
  readonly authorization: string | undefined;
}

type Environment = Readonly<Record<string, string | undefined>>;

/**
 * The proxy that the environment names for an address: `HTTPS_PROXY` for https and `HTTP_PROXY` for http, else
 * `ALL_PROXY`, unless `NO_PROXY` names the host. A name in small letters comes first, and an empty value is none, as
 * curl has it. This machine's own addresses have no proxy, whatever the environment says.
 *
 * @throws PipelineError `invalid-request` that names the variable, and never repeats its value, which may hold a password.
 */
export function proxyFor(target: URL, env: Environment): ProxyServer | undefined {
  if (isLoopback(target)) return undefined;
  const named = firstSet(env, target.protocol === "https:" ? "https_proxy" : "http_proxy", "all_proxy");
  if (named === undefined) return undefined;
  const exempt = firstSet(env, "no_proxy");
  return exempt !== undefined && isExempt(target, exempt.value) ? undefined : readProxy(named, target);
}

interface Variable {
  readonly name: string;
  readonly value: string;
}

function firstSet(env: Environment, ...names: readonly string[]): Variable | undefined {
  for (const name of names.flatMap((small) => [small, small.toUpperCase()])) {
    const value = env[name]?.trim() ?? "";
    if (value !== "") return { name, value };
  }
  return undefined;
}

function readProxy({ name, value }: Variable, target: URL): ProxyServer {
  const text = value.includes("://") ? value : `http://${value}`;
  if (!URL.canParse(text)) throw unusable(name, "is not the address of a proxy");
  const { protocol, hostname, port, host, username, password, pathname, search, hash } = new URL(text);
  if (protocol !== "http:" && protocol !== "https:") {
    // A password may stand where the scheme would, so only what can be nothing else is repeated.
    const scheme = /^socks\w*:$/.test(protocol)
      ? `a ${protocol.slice(0, -1)} proxy`
      : "another kind of proxy";
    throw new PipelineError(
      "invalid-request",
      `${name} names ${scheme}; only http and https proxies can be used.`,
      {
        next: `Set HTTPS_PROXY to one of those, or name ${target.hostname} in NO_PROXY if it can be reached without.`,
      },
    );
  }
  // A `/`, `?` or `#` in a password ends the host too early, and the rest of the password would be shown as it.
  if (search !== "" || hash !== "" || pathname.includes("@")) {
    throw unusable(name, "is not the address of a proxy");
  }
  return {
    protocol,
    hostname: hostname.replace(/^\[(.*)\]$/, "$1"),
    port: Number(port) || (protocol === "https:" ? 443 : 80),
    host,
    variable: name,
    authorization: authorization(name, username, password),
  };
}

function authorization(variable: string, username: string, password: string): string | undefined {
  if (username === "" && password === "") return undefined;
  try {
    const plain = `${decoded(username)}:${decoded(password)}`;
    return `Basic ${Buffer.from(plain).toString("base64")}`;
  } catch {
    throw unusable(variable, "holds a user name or a password that is not percent-encoded UTF-8");
  }
}

/** A `%` that begins no code stands for itself, as people write it. @throws URIError */
function decoded(text: string): string {
  return decodeURIComponent(text.replace(/%(?![\da-f]{2})/gi, "%25"));
}

function unusable(variable: string, what: string): PipelineError {
  return new PipelineError("invalid-request", `${variable} ${what}.`, {
    next: `Write ${variable} like http://proxy.example:3128, with special characters of a password percent-encoded, or unset it.`,
  });
}
