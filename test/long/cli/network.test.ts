import assert from "node:assert/strict";
import { writeFile } from "node:fs/promises";
import { createServer, type Socket } from "node:net";
import { join } from "node:path";
import { certificate } from "../../certificate.ts";
import { toolbox } from "../../cli/toolbox.ts";
import {
  type Answer,
  LoopbackService,
  orgOnWire,
  runOnWire,
  sendError,
  sendJson,
} from "../../client/loopbackService.ts";
import { ConnectProxy, type ProxyOptions } from "../../connectProxy.ts";
import { itOn } from "../../itOn.ts";

const authority = certificate({ host: "test authority", isAuthority: true });
const ofService = certificate({ host: "service.example", issuer: authority });
const answersOrg: Answer = (_, response) => sendJson(response, 200, orgOnWire);

/** The tool with a service of the name service.example that a proxy leads to, and the authority of its certificate. */
async function behindProxy(answer: Answer, options: ProxyOptions = {}) {
  const tool = await toolbox();
  const service = await LoopbackService.listen(answer, ofService);
  const proxy = await ConnectProxy.listen(service.port, options);
  const authorityFile = join(tool.data, "authority.pem");
  await writeFile(authorityFile, authority.cert);
  const env = {
    PIPELINE_BASE_URL: "https://service.example",
    PIPELINE_API_KEY: "plk_0f-the-network",
    HTTPS_PROXY: `http://${proxy.host}`,
    NODE_EXTRA_CA_CERTS: authorityFile,
    ...Object.fromEntries(
      ["https_proxy", "all_proxy", "ALL_PROXY", "no_proxy", "NO_PROXY"].map((name) => [name, ""]),
    ),
  };
  return {
    tool,
    service,
    proxy,
    env,
    async [Symbol.asyncDispose]() {
      await proxy[Symbol.asyncDispose]();
      await service[Symbol.asyncDispose]();
      await tool[Symbol.asyncDispose]();
    },
  };
}

describe("the tool's network", () => {
  it("goes through the proxy of the environment, and knows the authorities of NODE_EXTRA_CA_CERTS", async () => {
    await using there = await behindProxy(answersOrg);
    const { exitCode, stdout, stderr } = await there.tool.run(["org"], there.env);
    assert.equal(exitCode, 0, stderr);
    assert.match(stdout, /^Lamps/);
    assert.deepEqual([...new Set(there.proxy.asked)], ["service.example:443"]);
    assert.ok(!there.proxy.seen.includes(there.env.PIPELINE_API_KEY));
  });

  it("knows them without a proxy too, and trusts nobody else", async () => {
    await using there = await behindProxy(answersOrg);
    const local = await LoopbackService.listen(
      answersOrg,
      certificate({ host: "localhost", issuer: authority }),
    );
    await using _ = local;
    const env = { ...there.env, PIPELINE_BASE_URL: `https://localhost:${local.port}` };
    assert.equal((await there.tool.run(["org"], env)).exitCode, 0);
    const { exitCode, stderr } = await there.tool.run(["org"], { ...env, NODE_EXTRA_CA_CERTS: undefined });
    assert.equal(exitCode, 4);
    assert.match(
      stderr,
      /signed by an authority that this machine doesn't know\.\nIf you trust that authority/,
    );
    assert.deepEqual(there.proxy.asked, [], "this machine's own addresses have no proxy");
  });

  // A host that is no loopback by its name, and is found without a name server.
  itOn("posix", "goes through no proxy where NO_PROXY names the host", async () => {
    await using there = await behindProxy(answersOrg);
    const env = {
      ...there.env,
      PIPELINE_BASE_URL: `https://0.0.0.0:${there.service.port}`,
      NO_PROXY: "other, 0.0.0.0",
    };
    const { exitCode, stderr } = await there.tool.run(["org"], env);
    assert.equal(exitCode, 4);
    assert.match(stderr, /^pipeline: The certificate of 0\.0\.0\.0:\d+ .* it is for service\.example\.$/m);
    assert.deepEqual(there.proxy.asked, []);
  });

  it("reaches this machine's own service, whatever proxy is set and Node itself is told to use", async () => {
    await using there = await behindProxy(answersOrg);
    const proxy = `http://${there.proxy.host}`;
    const { exitCode, stdout, stderr } = await there.tool.run(["org"], {
      HTTPS_PROXY: proxy,
      HTTP_PROXY: proxy,
      ALL_PROXY: proxy,
      NO_PROXY: "",
      no_proxy: "",
      NODE_USE_ENV_PROXY: "1",
    });
    assert.equal(exitCode, 0, stderr);
    assert.match(stdout, /runs used today/);
    assert.deepEqual(there.proxy.asked, []);
  });

  it("runs a pipeline through a proxy with a password, and follows it over events", async () => {
    await using there = await behindProxy(
      ({ method, path }, response) => {
        if (path === "/api/events") {
          response.writeHead(200, { "content-type": "text/event-stream" });
          response.write(": hello\n\n");
          const ended = runOnWire({ status: "succeeded", "stopped-at": "2026-03-03T10:00:01Z", steps: [] });
          response.write(`event: run\ndata: ${JSON.stringify(ended)}\n\n`);
          return;
        }
        sendJson(response, method === "POST" ? 201 : 200, runOnWire());
      },
      { credentials: "me:pass" },
    );
    const env = { ...there.env, HTTPS_PROXY: `http://me:pass@${there.proxy.host}` };
    const { exitCode, stdout, stderr } = await there.tool.run(["run", "nightly"], env);
    assert.equal(exitCode, 0, stderr);
    assert.match(stdout, /run_1 nightly succeeded/);
  });

  const refusing: [string, ProxyOptions, string, number, RegExp][] = [
    [
      "asks for a password",
      { credentials: "me:5ecre7" },
      "http://",
      4,
      /asks for a user name and a password/,
    ],
    [
      "takes another one",
      { credentials: "me:5ecre7" },
      "http://me:5ecre8@",
      4,
      /a password other than those that it was sent/,
    ],
    [
      "is of a kind that can't be used",
      {},
      "socks5://me:5ecre8@",
      2,
      /^pipeline: HTTPS_PROXY is not the address of an http or https proxy/,
    ],
  ];
  for (const [how, options, begin, code, message] of refusing) {
    it(`says so when the proxy ${how}: exit code ${code}`, async () => {
      await using there = await behindProxy(answersOrg, options);
      const env = { ...there.env, HTTPS_PROXY: `${begin}${there.proxy.host}` };
      for (const args of [["org"], ["org", "--json"]]) {
        const { exitCode, stdout, stderr } = await there.tool.call(args, env);
        assert.equal(exitCode, code);
        if (args.length === 1) assert.match(stderr, message);
        assert.ok(!`${stdout}${stderr}`.includes("5ecre"));
      }
    });
  }

  it("says so when the proxy is gone: exit code 4", async () => {
    await using there = await behindProxy(answersOrg);
    const { host } = there.proxy;
    await there.proxy[Symbol.asyncDispose]();
    const { exitCode, stderr } = await there.tool.run(["org"], there.env);
    assert.equal(exitCode, 4);
    assert.ok(stderr.startsWith(`pipeline: Nothing listens at the proxy ${host} (HTTPS_PROXY)`), stderr);
  });

  it("asks again where an answer was lost, and says nothing of it to a script", async () => {
    let asked = 0;
    await using there = await behindProxy(({ path }, response) => {
      if (path !== "/api/org") return sendError(response, 404, "not-found");
      asked += 1;
      if (asked === 1) return void response.destroy();
      sendJson(response, 200, orgOnWire);
    });
    const { exitCode, stderr } = await there.tool.run(["org"], there.env);
    assert.deepEqual([exitCode, stderr, asked], [0, "", 2]);
  });

  it("keeps nobody waiting after Ctrl-C, also when a host takes the connection and says nothing", async () => {
    await using tool = await toolbox();
    const silent = createServer((socket) => socket.on("error", () => undefined));
    await new Promise<void>((resolve) => silent.listen(0, "127.0.0.1", resolve));
    const address = silent.address();
    assert.ok(typeof address === "object" && address !== null);
    for (const env of [
      { PIPELINE_BASE_URL: `https://127.0.0.1:${address.port}` },
      { PIPELINE_BASE_URL: "https://service.example", HTTPS_PROXY: `http://127.0.0.1:${address.port}` },
    ]) {
      const running = tool.spawn(["runs", "list"], {
        PIPELINE_API_KEY: "plk_x",
        https_proxy: "",
        no_proxy: "",
        ...env,
      });
      const socket = await new Promise<Socket>((resolve) => silent.once("connection", resolve));
      await new Promise((resolve) => socket.once("data", resolve));
      running.kill("SIGINT");
      const closed = new Promise((resolve) => socket.once("close", resolve));
      assert.equal((await running).exitCode, 130);
      await closed;
    }
    await new Promise((resolve) => silent.close(resolve));
  });
});
