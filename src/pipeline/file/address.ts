import { quoted } from "../mistakes/problem.ts";
import type { Address } from "./values.ts";

/** Whether a target is a whole address; otherwise it is a path. */
export function isAbsolute(target: string): boolean {
  return /^https?:\/\//i.test(target);
}

/**
 * The whole address. The target's path follows that of the base, even if it begins with `/`: `http://host/api` and `/health` keep
 * the `api`. A query of the base goes before the target's own.
 */
export function joinAddress({ base, target }: Address): string {
  if (base === undefined || isAbsolute(target)) return target;
  const [root = "", ownQuery] = withoutFragment(base).split(/\?(.*)/s, 2);
  const [, path = "", query, fragment = ""] = /^([^?#]*)(?:\?([^#]*))?(#.*)?$/s.exec(target) ?? [];
  let end = root.length;
  // Spaces at the end of an address are insignificant, but not in its middle.
  while (end > 0 && (root.charAt(end - 1) <= " " || root.charAt(end - 1) === "/")) end -= 1;
  const queries = [ownQuery?.trimEnd(), query].filter((part) => part !== undefined && part !== "");
  const isAsked = queries.length > 0 || query !== undefined;
  return `${root.slice(0, end)}/${path.replace(/^\/+/, "")}${isAsked ? "?" : ""}${queries.join("&")}${fragment}`;
}

function withoutFragment(address: string): string {
  return address.split("#", 1)[0] ?? "";
}

/**
 * How a value is written into an address after `before`: at the beginning and in the host as it is, within the path and the
 * query encoded as one piece.
 *
 * @returns undefined for a value that makes a whole segment `.` or `..`, and so would lead to another path.
 */
export function inAddress(before: string, value: string): string | undefined {
  if (before === "" || /^https?:\/\/[^/?#]*$/i.test(before)) return value;
  // Some servers drop what follows a `;` before they resolve the path.
  const segment = (before.split(/[/\\]/).at(-1) + value)
    .replaceAll(/%2e/gi, ".")
    .replace(/(?:;|%3b).*$/is, "");
  if ((segment === "." || segment === "..") && !/[?#]/.test(before)) return undefined;
  const encoded = encodeURIComponent(value.toWellFormed());
  // In a path these stand for themselves, and some servers take them only unencoded: `/orders/7:cancel`.
  return /[?#]/.test(before) ? encoded : encoded.replace(/%(?:24|26|2B|2C|3A|3B|3D|40)/g, decodeURIComponent);
}

/**
 * @param instead what to do instead of putting a user and password into the address; ends the message.
 * @returns undefined for a valid address.
 */
export function problemOfUrl(written: string, instead: string): string | undefined {
  if (!isAbsolute(written)) {
    return `\`${quoted(written)}\` is no address: it begins with http:// or https://`;
  }
  const url = URL.parse(written);
  if (url === null) return `\`${quoted(written)}\` is no address`;
  if (url.username !== "" || url.password !== "") {
    return `an address holds no user and password; ${instead}`;
  }
  return undefined;
}

export function problemOfPort(port: string): string | undefined {
  return /^\d{1,5}$/.test(port) && Number(port) >= 1 && Number(port) <= 65_535
    ? undefined
    : "a port is a whole number from 1 to 65535";
}

export function problemOfReadyAddress(address: string): string | undefined {
  return problemOfUrl(address, "`ready` takes one that answers without them");
}

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

/** Where a request connects to: the target of the first entry that fits its host. Undefined where none does. */
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
