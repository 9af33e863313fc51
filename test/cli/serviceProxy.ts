import { type IncomingHttpHeaders, request } from "node:http";
import { readConnection } from "../../src/machine/connectionFile.ts";
import { LoopbackService } from "../client/loopbackService.ts";

interface ProxyOptions {
  /** The `Date` that the replies are given; the service's own when left out. */
  readonly date?: Date;
  /** Paths that the service does not have. */
  readonly absent?: readonly RegExp[];
  /**
   * Called with each reply that the service has given, to a request such as `POST /api/runs`. The tool gets it when the
   * promise resolves; instead of one that is `lost`, the connection breaks.
   */
  readonly beforeReply?: (
    line: string,
    status: number,
    headers: IncomingHttpHeaders,
  ) => Promise<void> | "lost" | undefined;
}

/**
 * A way to a service on this machine, on which a reply may be slow or lost; `passed` has the requests' lines.
 * @param service where it is and the key that the tool has there, or the data folder of one that runs.
 */
export async function serviceProxy(
  service: string | { readonly url: string; readonly token: string },
  { date, absent = [], beforeReply }: ProxyOptions = {},
) {
  const target = typeof service === "string" ? await readConnection(service) : service;
  if (target === undefined) throw new Error("the service doesn't run yet");
  const passed: string[] = [];
  const proxy = await LoopbackService.listen((asked, answer, signal) => {
    const line = `${asked.method} ${asked.path}`;
    passed.push(line);
    if (absent.some((path) => path.test(asked.path))) return void answer.writeHead(404).end();
    const { host: _, ...headers } = asked.headers;
    const url = new URL(asked.path, target.url);
    const far = request(url, { method: asked.method, headers, signal }, async (reply) => {
      const { statusCode = 502 } = reply;
      if ((await beforeReply?.(line, statusCode, asked.headers)) === "lost") return void answer.destroy();
      const dated = date === undefined ? {} : { date: date.toUTCString() };
      answer.writeHead(statusCode, { ...reply.headers, ...dated });
      reply.pipe(answer);
    });
    far.on("error", () => answer.destroy());
    far.end(asked.body);
  });
  /** Makes a tool come this way. */
  const env = { PIPELINE_BASE_URL: proxy.origin, PIPELINE_API_KEY: target.token };
  return Object.assign(proxy, { passed, env });
}
