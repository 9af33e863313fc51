import { addAbortListener } from "node:events";
import { Agent, interceptors, request } from "undici";
import { codeOf } from "../../project/systemErrors.ts";
import { lookingUp } from "../step/network.ts";

/** As many as an http step follows by default. */
const maxRedirections = 10;

/**
 * Whether an address answers with a status from 200 to 299, after redirects. Certificates aren't checked: they say who answers,
 * not whether it is ready.
 * @returns what is missing; undefined when nothing is. Never rejects.
 */
export async function lookAtAddress(address: string, signal: AbortSignal): Promise<string | undefined> {
  const agent = new Agent({
    connect: { rejectUnauthorized: false, ...lookingUp(URL.parse(address)?.hostname ?? "") },
  });
  const dispatcher = agent.compose(interceptors.redirect({ maxRedirections }));
  // The library heeds the signal only once it is connected, and a TLS handshake may never end.
  using _ = addAbortListener(signal, () => void agent.destroy());
  try {
    const { statusCode } = await request(address, { dispatcher, signal });
    return statusCode >= 200 && statusCode < 300 ? undefined : `${address} answers ${statusCode}`;
  } catch (error) {
    const code = signal.aborted ? undefined : codeOf(error);
    return `${address} doesn't answer${code === undefined ? "" : ` (${code})`}`;
  } finally {
    await agent.destroy();
  }
}
