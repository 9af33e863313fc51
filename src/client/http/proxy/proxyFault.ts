import type { IncomingMessage } from "node:http";
import { foreignText } from "../foreignText.ts";
import { knownFault, OutOfReach } from "../outOfReach.ts";
import type { ProxyServer } from "./proxyFor.ts";

/**
 * What went wrong on the way to a proxy or with it; undefined for what says nothing of it, like a caller's abort.
 * @param now the caller's clock in milliseconds since 1970.
 */
export function proxyFault(
  proxy: ProxyServer,
  host: string,
  cause: unknown,
  now: number,
): OutOfReach | undefined {
  const fault = knownFault(cause, called(proxy), now);
  if (fault === undefined) return undefined;
  const next = fault.fault === "tls" ? fault.next : checkProxy(proxy, host);
  return new OutOfReach(fault.fault, sentence(fault.message), { cause, next });
}

/** Why a proxy that answered makes no tunnel to the host; undefined when it does. */
export function refusedTunnel(
  proxy: ProxyServer,
  host: string,
  answer: IncomingMessage,
): OutOfReach | undefined {
  const { statusCode = 0 } = answer;
  if (statusCode >= 200 && statusCode < 300) return undefined;
  if (statusCode === 407) return unauthenticated(proxy, answer.headers["proxy-authenticate"] ?? "");
  const answered = `${statusCode} ${foreignText(answer.statusMessage ?? "", "")}`.trim();
  if (statusCode === 502 || statusCode === 503 || statusCode === 504) {
    return new OutOfReach(
      "unavailable",
      sentence(`${called(proxy)} could not reach ${host}: it answered ${answered}.`),
      { next: "Check the base URL, or try again later." },
    );
  }
  return new OutOfReach(
    "proxy",
    sentence(`${called(proxy)} doesn't let requests through to ${host}: it answered ${answered}.`),
    { next: checkProxy(proxy, host) },
  );
}

function unauthenticated(proxy: ProxyServer, schemes: string): OutOfReach {
  const { variable } = proxy;
  const write = `${variable} like http://user:password@${proxy.host}, with special characters percent-encoded`;
  const offered = [...schemes.matchAll(/(?:^|,)\s*([\w-]+)(?=\s|,|$)/g)].map(([, scheme = ""]) => scheme);
  if (offered.length > 0 && !offered.some((scheme) => scheme.toLowerCase() === "basic")) {
    return new OutOfReach(
      "proxy",
      sentence(`${called(proxy)} asks for ${offered.join(" or ")}, which can't be answered.`),
      { next: `Name a proxy in ${variable} that takes a user name and a password, or none.` },
    );
  }
  return proxy.authorization === undefined
    ? new OutOfReach("proxy", sentence(`${called(proxy)} asks for a user name and a password.`), {
        next: `Write ${write}.`,
      })
    : new OutOfReach(
        "proxy",
        sentence(`${called(proxy)} does not accept the user name and the password that it was sent.`),
        { next: `Correct them: write ${write}.` },
      );
}

function called({ host, variable }: ProxyServer): string {
  return `the proxy ${host} (${variable})`;
}

function checkProxy({ variable }: ProxyServer, host: string): string {
  return `Check ${variable}, or name ${host} in NO_PROXY if it can be reached without a proxy.`;
}

function sentence(text: string): string {
  return text.replace(/^the /, "The ");
}
