// A little shop of lamps, for the pipelines of this folder. Node's own modules are all it needs.
// `--ready-after <seconds>`: it listens at once, but answers that it isn't ready until then.
import { randomUUID } from "node:crypto";
import { createServer } from "node:http";
import { parseArgs } from "node:util";
import { searchPage, thanksPage } from "./page.mjs";

const { values } = parseArgs({ options: { "ready-after": { type: "string", default: "0" } } });
const port = 47391;
const readyAt = Date.now() + Number(values["ready-after"]) * 1000;
const lamps = [
  { name: "desk lamp", price: 30 },
  { name: "floor lamp", price: 80 },
];
/** By their ids. An order is paid a little later: when it is looked at for the third time. */
const orders = new Map();
const users = new Map();
let lastId = 0;

const routes = {
  "GET /": ({ query, page }) => {
    const wanted = query.get("search") ?? "";
    page(
      searchPage(
        wanted,
        lamps.filter(({ name }) => name.includes(wanted.toLowerCase())),
      ),
    );
  },
  "GET /health": ({ answer }) => {
    const ok = Date.now() >= readyAt;
    answer(ok ? 200 : 503, { ok });
  },
  "GET /lamps": ({ answer }) => answer(200, { lamps }),
  "GET /about": ({ answer }) => answer(200, { about: "lamps since 1925" }),
  "POST /login": ({ body, answer }) => {
    const token = randomUUID();
    users.set(token, body.user);
    answer(
      200,
      { user: body.user, token },
      { "set-cookie": `user=${encodeURIComponent(body.user)}; HttpOnly` },
    );
  },
  "GET /me": ({ user, answer }) =>
    user === undefined ? answer(401, { error: "nobody" }) : answer(200, { user }),
  "POST /orders": ({ body, query, user, answer }) => {
    const lamp = lamps.find(({ name }) => name === body.lamp);
    if (lamp === undefined) return answer(404, { error: "no such lamp" });
    const count = body.count ?? 1;
    lastId += 1;
    const order = {
      id: lastId,
      lamp: lamp.name,
      count,
      items: Array.from({ length: count }, () => lamp),
      total: count * lamp.price,
      region: query.get("region") ?? "eu",
      ...(user !== undefined && { user }),
      looks: 0,
    };
    orders.set(order.id, order);
    answer(201, { ...order, payment: { token: randomUUID() } }, { location: `/orders/${order.id}` });
  },
  "GET /orders/:id": ({ order, answer }) => {
    order.looks += 1;
    answer(200, { ...order, status: order.looks < 3 ? "open" : "paid" });
  },
  "DELETE /orders/:id": ({ order, answer }) => {
    orders.delete(order.id);
    answer(200, { deleted: order.id });
  },
  "GET /thanks/:id": ({ order, page }) => page(thanksPage(order)),
};

const server = createServer(async (request, response) => {
  const answer = (status, body, headers = {}) =>
    response.writeHead(status, { "content-type": "application/json", ...headers }).end(JSON.stringify(body));
  const page = (html) => response.writeHead(200, { "content-type": "text/html; charset=utf-8" }).end(html);
  const { pathname, searchParams: query } = new URL(request.url, "http://shop");
  const [, folder, id] = /^\/(orders|thanks)\/(.+)$/.exec(pathname) ?? [];
  const route = routes[`${request.method} ${folder === undefined ? pathname : `/${folder}/:id`}`];
  if (route === undefined) return answer(404, { error: "no such page" });
  const order = orders.get(Number(id));
  if (folder !== undefined && order === undefined) return answer(404, { error: "no such order" });
  const text = await textOf(request);
  const { authorization, cookie = "" } = request.headers;
  const [, named] = /(?:^|; )user=([^;]*)/.exec(cookie) ?? [];
  const user =
    authorization === undefined ? named && decodeURIComponent(named) : users.get(authorization.slice(7));
  if (authorization !== undefined && user === undefined) return answer(401, { error: "no such token" });
  route({ answer, page, query, order, user, body: text === "" ? {} : JSON.parse(text) });
});

// The port may still belong to the shop of a run that is just ending.
const patience = Date.now() + 15_000;
server.on("error", (error) => {
  if (error.code !== "EADDRINUSE" || Date.now() > patience) {
    console.error(`the shop can't use port ${port}: ${error.message}`);
    process.exit(1);
  } else {
    setTimeout(() => server.listen(port, "127.0.0.1"), 200);
  }
});
server.on("listening", () => console.log(`the shop is open on port ${port}`));
server.listen(port, "127.0.0.1");

// A run ends its processes itself. On a system where this one got lost, it closes when no run can need it any more.
const longestRun = 3_600_000;
setTimeout(() => process.exit(0), longestRun).unref();

async function textOf(request) {
  let text = "";
  for await (const piece of request.setEncoding("utf8")) text += piece;
  return text;
}
