import type { Dispatcher } from "undici";
import { foreignText } from "../service/foreignText.ts";
import { faultAt, OutOfReach } from "../service/reachFaults.ts";

export interface ProxyServer {
  /** May hold a user name and a password, which are never told. */
  readonly address: URL;
  /** What names it in the environment. */
  readonly variable: string;
}

/** What went wrong on the way to a proxy, or with it, while it was asked for a tunnel to a host. */
export function proxyFault(proxy: ProxyServer, host: string, cause: unknown): OutOfReach {
  const { fault, message, next } = faultAt(called(proxy), cause, Date.now());
  return new OutOfReach(fault, sentence(message), {
    cause,
    next: fault === "tls" ? next : checkProxy(proxy, host),
  });
}

/** Why a proxy that answered makes no tunnel to the host. */
export function refusedTunnel(
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
