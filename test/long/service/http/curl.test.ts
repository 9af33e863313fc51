import assert from "node:assert/strict";
import { request } from "node:http";
import { execa } from "execa";
import {
  ended,
  programPipeline,
  started,
  startedService,
  untilCancelled,
} from "../../../service/startedService.ts";

const never = new AbortController().signal;

interface Asked {
  readonly method?: string;
  readonly headers?: Readonly<Record<string, string>>;
  readonly body?: string;
}

interface Answer {
  readonly status: number;
  readonly contentType: string;
  readonly body: string;
}

/** Asks by the real `curl` where there is one, and by bare HTTP elsewhere. */
async function curl(url: string, asked: Asked = {}): Promise<Answer> {
  const { method = "GET", headers = {}, body } = asked;
  const args = [
    "--silent",
    "--show-error",
    "--request",
    method,
    "--write-out",
    "\n%{http_code} %{content_type}",
  ];
  for (const [name, value] of Object.entries(headers)) args.push("--header", `${name}: ${value}`);
  if (body !== undefined) args.push("--data-binary", body);
  const { stdout, exitCode, code } = await execa("curl", [...args, url], { reject: false });
  if (code === "ENOENT") return bareHttp(url, { method, headers, body });
  assert.equal(exitCode, 0);
  const cut = stdout.lastIndexOf("\n");
  const [status, ...contentType] = stdout.slice(cut + 1).split(" ");
  return { status: Number(status), contentType: contentType.join(" "), body: stdout.slice(0, cut) };
}

function bareHttp(
  url: string,
  { method, headers, body }: Required<Omit<Asked, "body">> & { readonly body: string | undefined },
): Promise<Answer> {
  return new Promise((resolve, reject) => {
    const asked = request(url, { method, headers }, (reply) => {
      let text = "";
      reply.setEncoding("utf8");
      reply.on("data", (piece) => {
        text += String(piece);
      });
      reply.on("end", () => {
        const { statusCode = 0 } = reply;
        resolve({ status: statusCode, contentType: reply.headers["content-type"] ?? "", body: text });
      });
    });
    asked.on("error", reject).end(body);
  });
}

/** Holds an answer to the contract's shape of an error. */
function refused(answer: Answer, status: number, type: string): void {
  assert.equal(answer.status, status, answer.body);
  assert.match(answer.contentType, /^application\/json/);
  const told = JSON.parse(answer.body);
  assert.deepEqual(Object.keys(told), ["error"]);
  assert.equal(told.error.type, type);
  assert.match(told.error.message, /^[A-Z].*\.$/);
}

describe("`curl` without a key, with another org's key, with a viewer's key, with a forged `Host`", () => {
  it("is refused, as the contract says", async () => {
    await using service = await startedService();
    const { client, secret } = await service.member();
    const viewer = { "x-api-key": (await service.key("viewer")).secret };
    const other = { "x-api-key": (await service.key("owner", "other")).secret };
    const own = { "x-api-key": secret };
    await service.write("long", programPipeline(untilCancelled));
    const run = await started(client, "long");
    const { url } = service;
    const runUrl = `${url}/api/runs/${run.runId}`;
    const post = { method: "POST", body: '{"pipeline":"long"}' };

    // Without a key, and with one that is none: every endpoint behind the key, known or not.
    for (const path of [
      "org",
      "runs",
      `runs/${run.runId}`,
      "pipelines",
      "events",
      "keys",
      "projects",
      "none",
    ]) {
      refused(await curl(`${url}/api/${path}`), 401, "unauthorized");
      refused(
        await curl(`${url}/api/${path}`, { headers: { "x-api-key": "nonsense" } }),
        401,
        "unauthorized",
      );
    }
    refused(await curl(`${url}/api/runs`, post), 401, "unauthorized");
    refused(await curl(`${runUrl}/cancel`, { method: "POST" }), 401, "unauthorized");
    refused(await curl(`${url}/api/org?x-api-key=${secret}`), 401, "unauthorized");
    refused(
      await curl(`${url}/api/org`, { headers: { authorization: `Bearer ${secret}` } }),
      401,
      "unauthorized",
    );

    // With another org's key: a run that is there is told like one that isn't.
    for (const [suffix, method] of [
      ["", "GET"],
      ["/cancel", "POST"],
    ] as const) {
      const there = await curl(`${runUrl}${suffix}`, { method, headers: other });
      const none = await curl(`${url}/api/runs/run_none${suffix}`, { method, headers: other });
      refused(there, 404, "not-found");
      assert.equal(there.body.replaceAll(run.runId, ""), none.body.replaceAll("run_none", ""));
    }

    // With a viewer's key: it looks, and changes nothing.
    assert.equal((await curl(runUrl, { headers: viewer })).status, 200);
    assert.equal((await curl(`${url}/api/org`, { headers: viewer })).status, 200);
    refused(await curl(`${url}/api/runs`, { ...post, headers: viewer }), 403, "forbidden");
    refused(await curl(`${runUrl}/cancel`, { method: "POST", headers: viewer }), 403, "forbidden");
    const root = JSON.stringify({ root: service.project.root });
    const project = `${url}/api/projects/mine`;
    refused(await curl(project, { method: "PUT", headers: viewer, body: root }), 403, "forbidden");

    // With a forged Host or another site's Origin: also with a good key.
    for (const forged of [
      { host: "evil.example" },
      { host: `evil.example:${new URL(url).port}` },
      { origin: "https://evil.example" },
      { origin: "null" },
    ]) {
      refused(await curl(`${url}/api/org`, { headers: { ...own, ...forged } }), 403, "forbidden");
      refused(
        await curl(`${runUrl}/cancel`, { method: "POST", headers: { ...own, ...forged } }),
        403,
        "forbidden",
      );
      refused(await curl(`${url}/healthz`, { headers: forged }), 403, "forbidden");
    }

    // None of it changed anything.
    assert.equal((await client.run(run.runId, never)).status, "running");
    assert.equal((await client.org(never)).usage.runsToday, 1);
    const cancelled = await curl(`${runUrl}/cancel`, { method: "POST", headers: own });
    assert.equal(cancelled.status, 200);
    assert.deepEqual(JSON.parse(cancelled.body), { "run-id": run.runId, status: "cancelling" });
    await ended(client, run);
  });
});
