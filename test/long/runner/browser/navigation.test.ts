import assert from "node:assert/strict";
import { once } from "node:events";
import { createServer, type Server, type Socket } from "node:net";
import { describeNavigationProblem } from "../../../../src/runner/browser/goTo.ts";
import { LoopbackService } from "../../../client/loopbackService.ts";
import { BrowserSteps, html, pages } from "../../../runner/browser/browserSteps.ts";

describe("a browser step whose page doesn't open", () => {
  const steps = BrowserSteps.forThisFile();
  let server: LoopbackService;
  let base: string;
  let rude: Server;
  let rudePort: number;
  const sockets: Socket[] = [];

  before(async () => {
    server = await LoopbackService.listen(
      pages({
        "/": "<title>Home</title>",
        "/broken": (_request, response) =>
          response.writeHead(500, { "content-type": html }).end("<h1>Out of   lamps</h1>"),
        "/empty-error": (_request, response) => response.writeHead(503).end(),
        "/silent": () => {},
        "/half": (_request, response) => void response.setHeader("content-type", html).write("<p>Half of"),
        "/file": (_request, response) => response.setHeader("content-type", "application/zip").end("PK"),
        "/round": (_request, response) => response.writeHead(302, { location: "/round" }).end(),
        "/drop": (_request, response) => response.destroy(),
      }),
    );
    base = server.origin;
    rude = createServer((socket) => {
      sockets.push(socket);
      socket.on("error", () => {}).end("220 this is something else\r\n");
    });
    rude.listen(0, "127.0.0.1");
    await once(rude, "listening");
    const address = rude.address();
    assert.ok(address !== null && typeof address === "object");
    rudePort = address.port;
  });
  after(async () => {
    await server[Symbol.asyncDispose]();
    for (const socket of sockets) socket.destroy();
    await new Promise((done) => rude.close(done));
  });
  /** The browser shows a page of its own after a failure; what comes next waits until it is through with that. */
  async function settle(): Promise<void> {
    for (;;) {
      const { outcome } = await steps.run(base, { goto: "/" });
      if (outcome.kind === "succeeded") return;
      assert.match(outcome.message, /interrupted by another navigation|didn't reply|went elsewhere at once/);
    }
  }
  afterEach(settle);

  it("tells the status and what the page says", async () => {
    assert.equal(
      await steps.fail(base, { goto: "/broken?key=1" }),
      `expected status below 400, got 500 from ${base}/broken\nthe page says: Out of lamps`,
    );
    assert.equal(
      await steps.fail(base, { goto: "/", expect: { status: "3xx" } }),
      `expected status 3xx, got 200 from ${base}/`,
    );
  });

  it("tells the status of an error without a page, and takes it when it is expected", async () => {
    assert.equal(
      await steps.fail(base, { goto: "/empty-error" }),
      `expected status below 400, got 503 from ${base}/empty-error`,
    );
    await steps.succeed(base, { goto: "/empty-error", expect: { status: 503 } });
  });

  it("says that nothing came, or only a part", async () => {
    const host = `127.0.0.1:${server.port}`;
    assert.equal(
      await steps.fail(base, { goto: "/silent", timeout: "4s" }),
      `${host} didn't reply within 4 s, the step's \`timeout\``,
    );
    assert.equal(
      await steps.fail(base, { goto: "/half", timeout: "4s" }),
      `${host} replied with 200, but its page wasn't complete within 4 s, the step's \`timeout\``,
    );
  });

  it("says that nothing listens there", async () => {
    const free = createServer().listen(0, "127.0.0.1");
    await once(free, "listening");
    const address = free.address();
    assert.ok(address !== null && typeof address === "object");
    await new Promise((done) => free.close(done));
    assert.equal(
      await steps.fail(base, { goto: `http://127.0.0.1:${address.port}/` }),
      `nothing listens at 127.0.0.1:${address.port} (connection refused)`,
    );
  });

  it("says that the host isn't known", async () => {
    assert.match(
      await steps.fail(base, { goto: "http://nowhere.invalid/" }),
      /^the host nowhere\.invalid isn't known \(ERR_NAME_NOT_RESOLVED\)$/,
    );
  });

  it("says that the connection was closed, that it isn't HTTP, or no https", async () => {
    const host = `127.0.0.1:${server.port}`;
    assert.equal(
      await steps.fail(base, { goto: "/drop" }),
      `${host} closed the connection before its page was complete`,
    );
    await settle();
    assert.equal(
      await steps.fail(base, { goto: `http://127.0.0.1:${rudePort}/` }),
      `what answers at 127.0.0.1:${rudePort} isn't HTTP`,
    );
    await settle();
    assert.equal(await steps.fail(base, { goto: `https://${host}/` }), `${host} doesn't speak https`);
  });

  it("says that it is a download, or redirects without end", async () => {
    assert.equal(
      await steps.fail(base, { goto: "/file" }),
      `${base}/file is a download, not a page; an http step can fetch it`,
    );
    await settle();
    assert.equal(
      await steps.fail(base, { goto: "/round" }),
      `127.0.0.1:${server.port} redirects again and again`,
    );
  });

  it("keeps a picture of what the browser shows instead", async () => {
    const { kept } = await steps.run(base, { goto: "http://nowhere.invalid/" });
    assert.deepEqual(
      kept.map(({ name }) => name),
      ["failure.png"],
    );
  });

  it("keeps a picture also while it still waits for a reply", async () => {
    const { kept } = await steps.run(base, { goto: "/silent", timeout: "4s" });
    assert.deepEqual(
      kept.map(({ name }) => name),
      ["failure.png"],
    );
  });

  it("refuses what turns out to be no address once it is filled in", async () => {
    assert.match(
      // biome-ignore lint/suspicious/noTemplateCurlyInString: filled in by the runner, which isn't here to do it.
      await steps.fail("${{ env.NOWHERE }}", { goto: "/" }),
      /is no address that begins with http/,
    );
  });
});

describe("the sentence on a page that didn't open", () => {
  const url = new URL("https://shop.test:8443/lamps");
  for (const [code, sentence] of [
    [
      "ERR_CERT_AUTHORITY_INVALID",
      "the certificate of shop.test:8443 isn't from an authority that the browser trusts",
    ],
    ["ERR_CERT_COMMON_NAME_INVALID", "the certificate of shop.test:8443 was made for another host"],
    ["ERR_CERT_DATE_INVALID", "the certificate of shop.test:8443 has expired, or isn't valid yet"],
    ["ERR_ADDRESS_UNREACHABLE", "shop.test:8443 can't be reached (ERR_ADDRESS_UNREACHABLE)"],
    ["ERR_UNSAFE_PORT", "a browser opens no page on port 8443, which belongs to another protocol"],
    ["ERR_SOMETHING_NEW", "shop.test:8443 can't be opened: ERR_SOMETHING_NEW"],
  ] as const) {
    it(`says what ${code} means`, () => {
      assert.equal(describeNavigationProblem(url, `page.goto: net::${code} at ${url.href}`), sentence);
    });
  }
});
