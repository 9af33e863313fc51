import assert from "node:assert/strict";
import { readdir, readFile } from "node:fs/promises";
import { join } from "node:path";
import { lineLog, logLevel } from "../../../src/machine/log.ts";
import { parseReply, rawExchange } from "../rawExchange.ts";
import { ended, programPipeline, started, startedService } from "../startedService.ts";

type Service = Awaited<ReturnType<typeof startedService>>;
type Line = Readonly<Record<string, unknown>>;

/** The log's lines of one message, once there are as many as that; they are written as replies end. */
async function lines(service: Service, message: string, atLeast = 1, route?: string): Promise<Line[]> {
  for (;;) {
    const found = service.logged
      .map((line): Line => JSON.parse(line))
      .filter((line) => line["message"] === message && (route === undefined || line["route"] === route));
    if (found.length >= atLeast) return found;
    await new Promise((resolve) => setImmediate(resolve));
  }
}

describe("the log of requests", () => {
  it("has a line for each: its id, route, status, time and key, and nothing that the caller wrote", async () => {
    await using service = await startedService();
    const { secret, keyId } = await service.member();
    const before = (await lines(service, "request")).length;
    const headers = { "x-api-key": secret };
    const reply = await service.fetch("/api/runs/run_planted?also=planted", { headers });
    await reply.text();
    const unsigned = await service.fetch("/api/org");
    await unsigned.text();
    const nowhere = await service.fetch("/planted");
    await nowhere.text();
    const [missing, without, unknown] = (await lines(service, "request", before + 3)).slice(before);
    assert.equal(missing?.["level"], "info");
    assert.equal(missing?.["method"], "GET");
    assert.equal(missing?.["route"], "/api/runs/:id");
    assert.equal(missing?.["status"], 404);
    assert.equal(missing?.["keyId"], keyId);
    assert.equal(typeof missing?.["milliseconds"], "number");
    assert.equal(missing?.["requestId"], reply.headers.get("x-request-id"));
    assert.match(String(missing?.["requestId"]), /^[0-9a-f-]{36}$/);
    assert.equal(without?.["route"], "/api/org");
    assert.equal(without?.["status"], 401);
    assert.equal(without?.["keyId"], undefined);
    assert.equal(unknown?.["route"], "none");
    assert(!service.logged.join("").includes("planted"));
  });

  it("takes the caller's own id where it is a plain one, and makes another where it isn't", async () => {
    await using service = await startedService();
    const idFor = async (id: string) => {
      const asked = `GET /healthz HTTP/1.1\r\nhost: 127.0.0.1\r\nx-request-id: ${id}\r\nconnection: close\r\n\r\n`;
      return parseReply(await rawExchange(service.url, asked)).headers.get("x-request-id");
    };
    for (const id of ["a", "4bf92f3577b34da6a3ce929d0e0e4736", "build-7.step_2"])
      assert.equal(await idFor(id), id);
    for (const id of [
      "",
      "a b",
      'a"b',
      "-a",
      "ä",
      "x".repeat(65),
      "<b>",
      `plr_${"0".repeat(26)}_${"a".repeat(43)}`,
    ]) {
      assert.match((await idFor(id)) ?? "", /^[0-9a-f]{8}-[0-9a-f-]{27}$/, id);
    }
  });

  it("says of a stream how long it was, and that its caller has left", async () => {
    await using service = await startedService();
    const { secret } = await service.member();
    const leaving = new AbortController();
    const reply = await service.fetch("/api/events", {
      headers: { "x-api-key": secret },
      signal: leaving.signal,
    });
    assert.equal(reply.status, 200);
    leaving.abort();
    const streams = await lines(service, "request", 1, "/api/events");
    assert.equal(streams[0]?.["status"], 200);
    assert.equal(streams[0]?.["callerLeft"], true);
  });

  it("never holds a key, and neither do the database and the replies, wherever a caller puts one", async () => {
    await using service = await startedService();
    const { secret, client } = await service.member();
    const owner = await service.key("owner");
    const wrong = `${secret.slice(0, -43)}${"W".repeat(43)}`;
    await service.write("hello", programPipeline(""));
    await ended(client, await started(client, "hello"));
    let replies = "";
    let asked = 0;
    const ask = async (path: string, method: string, headers: Record<string, string>, body?: string) => {
      const stop = AbortSignal.timeout(20_000);
      const reply = await service.fetch(path, {
        method,
        headers,
        signal: stop,
        ...(body === undefined ? {} : { body }),
      });
      asked += 1;
      replies += JSON.stringify([...reply.headers]);
      if (reply.headers.get("content-type") === "text/event-stream") await reply.body?.cancel();
      else replies += await reply.text();
    };
    const planted = [secret, wrong];
    const document = JSON.parse(await (await service.fetch("/openapi.json")).text());
    const operations = Object.entries<object>(document.paths).flatMap(([path, methods]) =>
      Object.entries(methods).map(([name, { requestBody: body }]) => ({
        path,
        method: name.toUpperCase(),
        body,
      })),
    );
    for (const { method, path, body } of operations) {
      for (const key of planted) {
        const inPath = path.replaceAll(/\{\w+\}/g, key);
        const inBody =
          body === undefined
            ? undefined
            : JSON.stringify({
                pipeline: key,
                project: key,
                root: `/${key}`,
                role: key,
                name: key,
                [key]: key,
              });
        const plain =
          body === undefined ? undefined : JSON.stringify({ pipeline: "hello", role: "viewer", name: key });
        const everywhere = {
          authorization: `Bearer ${key}`,
          cookie: `key=${key}`,
          "idempotency-key": key,
          prefer: `wait=${key}`,
          "last-event-id": key,
          "user-agent": key,
          "x-request-id": key,
          referer: `http://127.0.0.1/${key}`,
        };
        for (const sent of planted) {
          await ask(inPath, method, { "x-api-key": sent }, inBody);
          await ask(
            `${inPath}?key=${key}&project=${key}&actor=${key}&status=${key}`,
            method,
            { "x-api-key": sent },
            inBody,
          );
          await ask(path.replaceAll(/\{\w+\}/g, "some"), method, { ...everywhere, "x-api-key": sent }, plain);
        }
        await ask(inPath, method, { ...everywhere, "x-api-key": owner.secret }, plain);
        await ask(inPath, method, everywhere, inBody);
        await ask(`/${key}`, method, { origin: `http://${key}` });
        await ask(`/api/${key}`, "POST", { "x-api-key": secret }, key);
      }
    }
    replies += await rawExchange(service.url, `GET /${secret} HTTP/9\r\nx-api-key: ${secret}\r\n\r\n`);
    replies += await rawExchange(
      service.url,
      `GET /${secret} HTTP/1.1\r\nx-api-key: ${secret}\r\nconnection: close\r\n\r\n`,
    );
    await lines(service, "request", asked);
    await service.stop();
    const random = [secret, owner.secret, wrong].map((key) => key.slice(-43));
    for (const part of random) {
      assert(!service.logged.join("").includes(part), "in the log");
      // A key is shown when it is made, and no other one.
      assert(!replies.includes(part), "in a reply");
    }
    for (const file of await readdir(service.data)) {
      if (file === "service.json") continue;
      const bytes = await readFile(join(service.data, file), "latin1").catch(() => "");
      for (const part of random) assert(!bytes.includes(part), `in ${file}`);
    }
  });

  it("is as talkative as PIPELINE_LOG_LEVEL says", () => {
    const written: string[] = [];
    const log = lineLog(
      (line) => written.push(line),
      () => 0,
      logLevel({ PIPELINE_LOG_LEVEL: "warn" }),
    );
    for (const level of ["debug", "info", "warn", "error"] as const) log(level, level);
    assert.deepEqual(
      written.map((line) => JSON.parse(line)),
      [
        { time: "1970-01-01T00:00:00.000Z", level: "warn", message: "warn" },
        { time: "1970-01-01T00:00:00.000Z", level: "error", message: "error" },
      ],
    );
    assert.equal(logLevel({}), "info");
    assert.throws(() => logLevel({ PIPELINE_LOG_LEVEL: "loud" }), {
      type: "usage",
      message: /debug, info, warn, error, not loud/,
    });
  });
});
