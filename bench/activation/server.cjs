// The least that a service can be: it tells where it listens, has one answer, and ends with who started it.
const { createServer } = require("node:http");

const org = JSON.stringify({ limits: { "runs-per-day": 50 }, usage: { "runs-today": 0 } });
const server = createServer((_, reply) => reply.setHeader("content-type", "application/json").end(org));
server.listen(0, "127.0.0.1", () => console.log(`http://127.0.0.1:${server.address().port}`));
process.stdin.resume().once("close", () => process.exit());
