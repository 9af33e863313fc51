import { BlockList, isIP } from "node:net";

/**
 * Whether a list like that of `NO_PROXY` names the address. Its entries stand apart by commas or spaces: `*` for
 * every host, a name for itself and all below it (with or without `.` or `*.` before it), an IP address or a range of
 * them (`10.0.0.0/8`). With a port an entry is for that port only.
 */
export function isExempt(target: URL, list: string): boolean {
  const host = plainHost(target.hostname);
  const port = target.port || (target.protocol === "https:" ? "443" : "80");
  return list
    .toLowerCase()
    .split(/[\s,]+/)
    .filter((entry) => entry !== "")
    .map(readEntry)
    .some((entry) => (entry.port === undefined || entry.port === port) && names(entry.host, host));
}

interface Entry {
  readonly host: string;
  readonly port: string | undefined;
}

/** An IPv6 address has colons of its own, so there a port is only what follows a bracket. */
function readEntry(text: string): Entry {
  const withPort = /^(\[[^\]]*\]|[^:]*):(\d+)$/.exec(text);
  return { host: plainHost(withPort?.[1] ?? text), port: withPort?.[2] };
}

function names(entry: string, host: string): boolean {
  if (entry === "*") return true;
  if (isIP(host) !== 0) return entry === host || isWithin(entry, host);
  const domain = entry.replace(/^\*?\./, "");
  return domain !== "" && (host === domain || host.endsWith(`.${domain}`));
}

function isWithin(range: string, address: string): boolean {
  const [network = "", bits = "", ...others] = range.split("/");
  const version = isIP(network);
  const prefix = Number(bits);
  const isRange = version !== 0 && /^\d{1,3}$/.test(bits) && others.length === 0;
  if (!isRange || version !== isIP(address) || prefix > (version === 4 ? 32 : 128)) return false;
  const family = version === 4 ? "ipv4" : "ipv6";
  const block = new BlockList();
  block.addSubnet(network, prefix, family);
  return block.check(address, family);
}

/** Without the brackets of an IPv6 address and the dot that ends a name in full. */
function plainHost(host: string): string {
  return host.replace(/^\[(.*)\]$/, "$1").replace(/\.$/, "");
}
