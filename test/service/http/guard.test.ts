import assert from "node:assert/strict";
import { errorTypeOf, parseReply, rawExchange } from "../rawExchange.ts";
import { startedService } from "../startedService.ts";

/** One request on a connection of its own, with just these lines. */
async function ask(url: string, ...lines: string[]) {
  return parseReply(await rawExchange(url, `${[...lines, "connection: close"].join("\r\n")}\r\n\r\n`));
}

describe("what a web page could send to the service", () => {
  it("is answered only under a loopback name, on whatever port it was forwarded to", async () => {
    await using service = await startedService();
    const { port } = new URL(service.url);
    const good = [
      `127.0.0.1:${port}`,
      `localhost:${port}`,
      "LOCALHOST:9000",
      "127.0.0.1",
      "127.0.0.1:80",
      `[::1]:${port}`,
    ];
    for (const host of good) {
      const { status } = await ask(service.url, "GET /healthz HTTP/1.1", `host: ${host}`);
      assert.equal(status, 200, host);
    }
    const rebound = [
      "evil.example",
      `evil.example:${port}`,
      `127.0.0.1.evil.example:${port}`,
      `localhost.evil.example:${port}`,
      "0.0.0.0",
      "127.0.0.2",
      "[::]",
      "[fe80::1]",
    ];
    for (const host of rebound) {
      const { status, body } = await ask(service.url, "GET /healthz HTTP/1.1", `host: ${host}`);
      assert.equal(status, 403, host);
      assert.equal(errorTypeOf(body), "forbidden");
    }
    // What is no host at all is no request; which of the two it is doesn't matter.
    for (const host of [
      "localhost.",
      "2130706433",
      "127.1",
      "a@127.0.0.1",
      "127.0.0.1:port",
      "127.0.0.1/x",
      "127.0.0.1, evil.example",
    ]) {
      const { status, body } = await ask(service.url, "GET /healthz HTTP/1.1", `host: ${host}`);
      assert(status === 400 || status === 403, `${host} ${status}`);
      assert(["forbidden", "invalid-request"].includes(String(errorTypeOf(body))), host);
    }
  });

  it("is turned away without a host, with two, and with a full target that is another's", async () => {
    await using service = await startedService();
    const host = `host: ${new URL(service.url).host}`;
    const without = await ask(service.url, "GET /healthz HTTP/1.1");
    assert.equal(without.status, 400);
    assert.equal(errorTypeOf(without.body), "invalid-request");
    assert.equal((await ask(service.url, "GET /healthz HTTP/1.0")).status, 400);
    assert.equal((await ask(service.url, "GET /healthz HTTP/1.1", host, "host: evil.example")).status, 403);
    assert.equal((await ask(service.url, "GET /healthz HTTP/1.1", "host: evil.example", host)).status, 403);
    assert.equal((await ask(service.url, `GET ${service.url}/healthz HTTP/1.1`, host)).status, 200);
    assert.equal((await ask(service.url, "GET http://evil.example/healthz HTTP/1.1", host)).status, 403);
    assert.equal(
      (await ask(service.url, "GET http://evil.example/healthz HTTP/1.1", "host: evil.example")).status,
      403,
    );
    for (const target of ["*", "healthz", "ftp://127.0.0.1/healthz", "/..\\healthz"]) {
      const { status, body } = await ask(service.url, `GET ${target} HTTP/1.1`, host);
      assert(status >= 400 && status < 500, `${target} ${status}`);
      assert(errorTypeOf(body) !== undefined, target);
    }
  });

  it("is turned away when another site's page sent it, whatever the browser says of it", async () => {
    await using service = await startedService();
    const { secret } = await service.key();
    const { host, origin, port } = new URL(service.url);
    const status = async (...lines: string[]) =>
      (await ask(service.url, "GET /healthz HTTP/1.1", `host: ${host}`, ...lines)).status;
    assert.equal(await status(`origin: ${origin}`), 200);
    const foreign = [
      "null",
      "https://evil.example",
      "http://127.0.0.1:1",
      `https://${host}`,
      `http://localhost:${port}`,
      "",
      "file://",
    ];
    for (const from of foreign) assert.equal(await status(`origin: ${from}`), 403, from);
    assert.equal(await status(`origin: ${origin}`, "origin: https://evil.example"), 403);

    assert.equal(await status("sec-fetch-site: same-origin"), 200);
    assert.equal(await status("sec-fetch-site: same-origin", "origin: https://behind.a.proxy.example"), 200);
    assert.equal(await status("sec-fetch-site: same-origin, cross-site", `origin: ${foreign[1]}`), 403);
    const rebound = "origin: http://evil.example";
    const lines = ["GET /healthz HTTP/1.1", "host: evil.example", rebound, "sec-fetch-site: same-origin"];
    assert.equal((await ask(service.url, ...lines)).status, 403);
    assert.equal(await status("sec-fetch-site: none"), 200);
    for (const site of ["cross-site", "same-site"]) {
      const from = `sec-fetch-site: ${site}`;
      assert.equal(await status(from, `origin: ${origin}`), 403, site);
      assert.equal(await status(from), 403, site);
      assert.equal(await status(from, "sec-fetch-mode: no-cors", "sec-fetch-dest: image"), 403);
      assert.equal(await status(from, "sec-fetch-mode: navigate", "sec-fetch-dest: iframe"), 403);
      // A link that a person follows.
      assert.equal(await status(from, "sec-fetch-mode: navigate", "sec-fetch-dest: document"), 200);
      const form = await ask(
        service.url,
        "POST /healthz HTTP/1.1",
        `host: ${host}`,
        from,
        "sec-fetch-mode: navigate",
        "sec-fetch-dest: document",
        "content-length: 0",
      );
      assert.equal(form.status, 403);
      // No page of another site can send this header, so whoever did is a program.
      assert.equal(await status(from, `x-api-key: ${secret}`), 200);
    }
  });
});
