import assert from "node:assert/strict";
import { once } from "node:events";
import { createServer, type IncomingHttpHeaders, request, type Server } from "node:http";
import { FrontDoor } from "../../../scripts/editor/frontDoor.ts";

const token = "0123abc";
const mintKey = Buffer.alloc(32, 5);

describe("the front door of the served editor", () => {
  let editor: Server;
  let door: FrontDoor;

  beforeEach(async () => {
    editor = createServer((incoming, response) => {
      response.writeHead(203, { "set-cookie": ["a=1", "b=2"], "x-path": incoming.url });
      incoming.pipe(response);
    });
    editor.on("upgrade", (_incoming, socket) => {
      socket.write("HTTP/1.1 101 Switching Protocols\r\nConnection: Upgrade\r\nUpgrade: websocket\r\n\r\n");
      socket.pipe(socket);
    });
    door = await FrontDoor.open({ editor: { port: await listen(editor), token }, mintKey, preferredPort: 0 });
  });

  afterEach(async () => {
    await door[Symbol.asyncDispose]();
    editor.close();
    editor.closeAllConnections();
  });

  it("passes a request on and its answer back, bodies and repeated headers whole", async () => {
    const answer = await ask("/some/where?x=1", { method: "POST", body: "hello" });
    assert.equal(answer.status, 203);
    assert.equal(answer.headers["x-path"], "/some/where?x=1");
    assert.deepEqual(answer.headers["set-cookie"], ["a=1", "b=2"]);
    assert.equal(answer.body.toString(), "hello");
  });

  it("gives the mint key to the page that holds the token, and only to it", async () => {
    const cookie = `other=1; vscode-tkn=${token}`;
    const given = await ask("/mint-key", { method: "POST", headers: { cookie } });
    assert.equal(given.status, 200);
    assert.deepEqual(given.body, mintKey);
    assert.equal((await ask("/mint-key", { method: "POST" })).status, 403);
    const wrong = await ask("/mint-key", { method: "POST", headers: { cookie: "vscode-tkn=0123ab" } });
    assert.equal(wrong.status, 403);
    assert.equal((await ask("/mint-key", { headers: { cookie } })).status, 405);
  });

  it("refuses what another site asks for, by its name or from its page", async () => {
    for (const headers of [
      { host: "evil.example" },
      { origin: "http://evil.example" },
      { origin: "null" },
      { origin: "http://127.0.0.1:1" },
      { host: "evil.example", origin: "http://evil.example" },
    ]) {
      assert.equal((await ask("/", { headers })).status, 403, JSON.stringify(headers));
      assert.equal(await upgradedTo({ ...headers }), 403, JSON.stringify(headers));
    }
  });

  it("lets its own page in under each name of this machine, through a tunnel too", async () => {
    const { host } = new URL(door.url);
    for (const name of [host, "localhost:9000", "[::1]:9000"]) {
      const headers = { host: name, origin: `http://${name}` };
      assert.equal((await ask("/", { headers })).status, 203, name);
      assert.equal(await upgradedTo(headers), 101, name);
    }
  });

  it("carries a web socket's bytes both ways, and ends it when it is closed itself", async () => {
    const { socket } = await upgrade({});
    assert.ok(socket);
    socket.write("ping");
    const [echo] = await once(socket, "data");
    assert.equal(String(echo), "ping");
    const ended = once(socket, "close");
    socket.resume();
    await door[Symbol.asyncDispose]();
    await ended;
    door = await FrontDoor.open({ editor: { port: await port(editor), token }, mintKey, preferredPort: 0 });
  });

  it("leads to another port of this machine, where VS Code asks for it below /proxy", async () => {
    const led = await ask("/proxy/4711/app/sign-in?code=a%2Fb&next=/app/runs");
    assert.equal(led.status, 307);
    assert.equal(led.headers.location, "http://127.0.0.1:4711/app/sign-in?code=a%2Fb&next=/app/runs");
    assert.equal(led.headers["cache-control"], "no-store", "the address may hold a sign-in code");
    assert.equal(led.headers["referrer-policy"], "no-referrer");
    assert.equal((await ask("/proxy/4711")).headers.location, "http://127.0.0.1:4711/");
    for (const path of ["/proxy/", "/proxy/evil.example/", "/proxy/1@evil.example/", "/proxy/99999/"]) {
      assert.equal((await ask(path)).status, 404, path);
    }
  });

  it("says so when the editor behind it is gone", async () => {
    editor.close();
    editor.closeAllConnections();
    assert.equal((await ask("/")).status, 502);
  });

  it("takes another port when the preferred one is taken", async () => {
    const taken = Number(new URL(door.url).port);
    await using second = await FrontDoor.open({ editor: { port: 1, token }, mintKey, preferredPort: taken });
    assert.notEqual(second.url, door.url);
  });

  interface Wish {
    readonly method?: string;
    readonly headers?: Record<string, string>;
    readonly body?: string;
  }

  async function ask(path: string, wish: Wish = {}) {
    const sent = request(`${door.url}${path}`, { method: wish.method ?? "GET", headers: wish.headers ?? {} });
    sent.end(wish.body);
    const { promise, resolve, reject } = Promise.withResolvers<{
      status: number | undefined;
      headers: IncomingHttpHeaders;
      body: Buffer;
    }>();
    sent.once("error", reject);
    sent.once("response", async (answer) => {
      const body = Buffer.concat(await answer.toArray());
      resolve({ status: answer.statusCode, headers: answer.headers, body });
    });
    return promise;
  }

  async function upgradedTo(headers: Record<string, string>): Promise<number | undefined> {
    const { status, socket } = await upgrade(headers);
    socket?.destroy();
    return status;
  }

  async function upgrade(headers: Record<string, string>) {
    const sent = request(door.url, { headers: { ...headers, connection: "Upgrade", upgrade: "websocket" } });
    sent.end();
    const { promise, resolve, reject } = Promise.withResolvers<{
      status: number | undefined;
      socket?: NodeJS.ReadWriteStream & { destroy(): void };
    }>();
    sent.once("error", reject);
    sent.once("response", (answer) => resolve({ status: answer.resume().statusCode }));
    sent.once("upgrade", (answer, socket) => resolve({ status: answer.statusCode, socket }));
    return promise;
  }
});

async function listen(server: Server): Promise<number> {
  server.listen(0, "127.0.0.1");
  await once(server, "listening");
  return port(server);
}

async function port(server: Server): Promise<number> {
  const address = server.address();
  assert.ok(address !== null && typeof address === "object");
  return address.port;
}
