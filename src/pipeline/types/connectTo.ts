/** Where to connect to instead of a host: another host and its port, or a unix socket. */
export type ConnectTarget =
  | { readonly kind: "host"; readonly hostname: string; readonly port: string | undefined }
  | { readonly kind: "socket"; readonly path: string };

/** A host as `connect-to` names it, `*.example.com` and `*` among them, with its port or without; an IPv6 address in brackets. */
const place = /^(\[[0-9a-f:.]+\]|[^\s/?#@:[\]]+)(?::(\d{1,5}))?$/i;

/** What is wrong with an entry of `connect-to`, as a sentence. */
export function problemOfConnect(from: string, to: string): string | undefined {
  const [, host = ""] = place.exec(from) ?? [];
  if (host === "" || !/^(?:\*|(?:\*\.)?[^*]+)$/.test(host))
    return "a host stands here, such as `shop.example`, `shop.example:443`, `*.shop.example` or `*`";
  const target = readTarget(to);
  return target === undefined || (target.kind === "host" && target.hostname.includes("*"))
    ? "an address stands here, such as `127.0.0.1`, `127.0.0.1:8443` or `unix:/run/shop.sock`"
    : undefined;
}

/** Where a request connects to: what the first entry says that fits its host. Undefined where none does. */
export function connectTarget(
  entries: Readonly<Record<string, string>>,
  { protocol, hostname, port }: Pick<URL, "protocol" | "hostname" | "port">,
): ConnectTarget | undefined {
  const own = port || (protocol === "https:" ? "443" : "80");
  const found = Object.entries(entries).find(([from]) => {
    const [, host = "", ofPort = own] = place.exec(from.toLowerCase()) ?? [];
    return (
      ofPort === own && (host === hostname || (host.startsWith("*") && hostname.endsWith(host.slice(1))))
    );
  });
  return found && readTarget(found[1]);
}

function readTarget(to: string): ConnectTarget | undefined {
  const [, path] = /^unix:(.+)$/s.exec(to) ?? [];
  if (path !== undefined) return { kind: "socket", path };
  const [, host, port] = place.exec(to) ?? [];
  return host === undefined ? undefined : { kind: "host", hostname: host.replace(/^\[|\]$/g, ""), port };
}
