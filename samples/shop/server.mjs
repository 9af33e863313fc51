// A little shop of lamps, for the pipelines `shop` and `checkout`. Node's own modules are all it needs.
import { createServer } from "node:http";
import { page } from "./page.mjs";

const port = 47391;
const lamps = [
  { name: "desk lamp", price: 30 },
  { name: "floor lamp", price: 80 },
];
let orders = 0;

const server = createServer(async (request, response) => {
  const answer = (status, body) =>
    response.writeHead(status, { "content-type": "application/json" }).end(JSON.stringify(body));
  const { pathname, searchParams } = new URL(request.url, "http://shop");
  if (pathname === "/") {
    const wanted = searchParams.get("search") ?? "";
    const found = lamps.filter(({ name }) => name.includes(wanted.toLowerCase()));
    return response.writeHead(200, { "content-type": "text/html; charset=utf-8" }).end(page(wanted, found));
  }
  if (request.url === "/health") return answer(200, { ok: true });
  if (request.url === "/lamps") return answer(200, { lamps });
  if (request.url === "/orders" && request.method === "POST") {
    const { lamp } = JSON.parse(await textOf(request));
    if (!lamps.some(({ name }) => name === lamp)) return answer(404, { error: "no such lamp" });
    orders += 1;
    return answer(201, { order: orders, lamp });
  }
  answer(404, { error: "no such page" });
});

// The port may still belong to the shop of a run that is just ending.
const patience = Date.now() + 15_000;
server.on("error", (error) => {
  if (error.code !== "EADDRINUSE" || Date.now() > patience) {
    process.send?.({ problem: `the shop can't use port ${port}: ${error.message}` }, () => process.exit(1));
  } else {
    setTimeout(() => server.listen(port, "127.0.0.1"), 200);
  }
});
server.on("listening", () => process.send?.({ listening: port }));
server.listen(port, "127.0.0.1");

// A run ends its processes itself. On a system where this one got lost, it closes when no run can need it any more.
const longestRun = 3_600_000;
setTimeout(() => process.exit(0), longestRun).unref();

async function textOf(request) {
  let text = "";
  for await (const piece of request.setEncoding("utf8")) text += piece;
  return text;
}
