import type { ServerResponse } from "node:http";
import { setImmediate as turn } from "node:timers/promises";
import { gzipSync } from "node:zlib";
import type { Answer, Asked } from "../../../client/loopbackService.ts";

/** A request as the routes see it. */
interface Request extends Asked {
  readonly url: URL;
  /** What stands in the path where the route has a `*`. */
  readonly word: string;
}

type Route = (request: Request, response: ServerResponse) => unknown;

const users = ["ada", "bob", "cid", "dot", "eve", "fay", "gus", "hal", "ivy", "joy"].map((name, index) => ({
  id: index + 1,
  name,
}));
const repositories = Array.from({ length: 58 }, (_, index) => ({ name: `repository-${index + 1}` }));
const picture = Buffer.from("89504e470d0a1a0a0000000d49484452", "hex");

const form = `<!doctype html><title></title><main>
  <a href="/hello">Say hello</a> <a href="/hello" target="_blank">In a tab</a>
  <form action="/sent"><label>Name <input name="name"></label><button>Send</button></form>
</main>`;

/**
 * The server that the peers' scenarios ask. Counters and what has to become ready are kept by the word in the path, so that
 * runs at the same time don't meet there: each uses its own `run.id`.
 */
export function peersServer(): Answer {
  const counts = new Map<string, number>();
  const count = (word: string) => {
    const next = (counts.get(word) ?? 0) + 1;
    counts.set(word, next);
    return next;
  };
  const routes: Readonly<Record<string, Route>> = {
    "/echo": (request, response) => json(response, 200, echoOf(request)),
    "/slow/*": async ({ word }, response) => {
      response.writeHead(200, { "content-type": "text/plain" });
      for (let piece = 0; piece < Number(word); piece += 1) {
        response.write(".");
        await turn();
      }
      response.end();
    },
    "/never": () => undefined,
    "/count/*": ({ word }, response) => json(response, 200, { count: count(`count ${word}`) }),
    "/ready/*": ({ word, url }, response) => {
      const isReady = count(`ready ${word}`) > Number(url.searchParams.get("after"));
      json(response, isReady ? 200 : 503, { ready: isReady });
    },
    "/one-more/*": ({ word }, response) => json(response, 201, { value: Number(word) + 1 }),
    "/set-cookie": ({ url }, response) => {
      const [name, value] = [url.searchParams.get("name"), url.searchParams.get("value")];
      json(response.setHeader("set-cookie", `${name}=${value}; Path=/`), 200, { name, value });
    },
    "/cookies": (request, response) => json(response, 200, { cookies: cookiesOf(request) }),
    "/redirect": (_, response) => response.writeHead(302, { location: "/missing" }).end(),
    "/users": ({ method, body }, response) =>
      method === "POST" ? json(response, 201, { id: 11, ...JSON.parse(body) }) : json(response, 200, users),
    "/users/*": ({ word }, response) => json(response, 200, users[Number(word) - 1] ?? null),
    "/people/*": ({ word }, response) => json(response, 200, { name: word }),
    "/repos": ({ url }, response) => {
      const page = Number(url.searchParams.get("page"));
      json(response, 200, repositories.slice(30 * (page - 1), 30 * page));
    },
    "/private": ({ headers }, response) =>
      headers.authorization?.startsWith("Bearer ") === true
        ? json(response, 200, { private: true })
        : json(response, 403, { error: "forbidden" }),
    "/bearer": ({ headers }, response) => {
      const token = /^Bearer (.+)$/.exec(headers.authorization ?? "")?.[1];
      json(response, token === undefined ? 401 : 200, { authenticated: token !== undefined, token });
    },
    "/login": ({ body }, response) => {
      const { mail, password } = JSON.parse(body);
      const isKnown = mail === "ada@example.test" && password === "lamp;light";
      json(response, isKnown ? 200 : 401, isKnown ? { token: "of-ada" } : {});
    },
    "/projects": ({ headers }, response) =>
      headers.authorization === "token of-ada"
        ? json(response, 200, { projects: ["lamps", "desks"] })
        : json(response, 403, {}),
    "/graphql": ({ headers, body }, response) =>
      json(response, 200, { data: { request: JSON.parse(body), user: headers["x-user"] } }),
    "/gzip": (request, response) =>
      response
        .writeHead(200, { "content-type": "application/json", "content-encoding": "gzip" })
        .end(gzipSync(JSON.stringify({ compressed: true, ...echoOf(request) }))),
    "/index/*": ({ word }, response) => json(response, 200, { page: Number(word) }),
    "/price": (_, response) => json(response, 200, { price: 1.5 }),
    "/picture": (_, response) => response.writeHead(200, { "content-type": "image/png" }).end(picture),
    "/form": (_, response) => html(response, form),
    "/hello": (_, response) => html(response, "<!doctype html><title>Hello</title><h1>Hello</h1>"),
    "/sent": (_, response) => html(response, "<!doctype html><title>Sent</title><p>Thank you</p>"),
  };
  return (asked, response) => {
    const url = new URL(asked.path, "http://localhost");
    const path = url.pathname.replace(/^\/v1\b/, "");
    if (path !== url.pathname) response.setHeader("x-version", "v1");
    const [, begin = "", word = ""] = /^(\/[^/]*)\/(.+)$/.exec(path) ?? [];
    const route = routes[path] ?? routes[`${begin}/*`];
    if (route === undefined) return json(response, 404, { error: "not found" });
    return route({ ...asked, url, word: decodeURIComponent(word) }, response);
  };
}

function echoOf(request: Request): object {
  const { method, url, headers, body } = request;
  const isJson = headers["content-type"] === "application/json" && body !== "";
  const query = Object.fromEntries(url.searchParams);
  return { method, path: url.pathname, query, headers, body, ...(isJson && { json: JSON.parse(body) }) };
}

function cookiesOf({ headers }: Asked): Record<string, string> {
  const pieces = (headers.cookie ?? "").split("; ").filter((piece) => piece !== "");
  return Object.fromEntries(
    pieces.map((piece) => [piece.split("=", 1)[0], piece.slice(piece.indexOf("=") + 1)]),
  );
}

function json(response: ServerResponse, status: number, value: unknown): void {
  response.writeHead(status, { "content-type": "application/json" }).end(JSON.stringify(value));
}

function html(response: ServerResponse, page: string): void {
  response.writeHead(200, { "content-type": "text/html; charset=utf-8" }).end(page);
}
