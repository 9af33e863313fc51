import assert from "node:assert/strict";
import { execFile } from "node:child_process";
import { mkdir, symlink, writeFile } from "node:fs/promises";
import { request } from "node:http";
import { join } from "node:path";
import { promisify } from "node:util";
import { PipelineError } from "../../../src/contract/errors.ts";
import { Told } from "../../client/told.ts";
import { FakeClock } from "../../clock/fakeClock.ts";
import { itOn } from "../../itOn.ts";
import { fillDayOf } from "../fillDay.ts";
import { onBoth } from "../onBoth.ts";
import { serviceOn } from "../serviceOn.ts";
import {
  ended,
  programPipeline,
  started,
  startedService,
  untilCancelled,
  untilFile,
} from "../startedService.ts";

const never = new AbortController().signal;

onBoth("the service over HTTP", (store) => {
  it("shows the org as the description has it, to every role", async () => {
    await using service = await serviceOn(store);
    for (const role of ["owner", "member", "viewer"] as const) {
      const key = await service.key(role);
      const reply = await service.fetch("/api/org", { headers: { "x-api-key": key.secret } });
      assert.equal(reply.status, 200);
      assert.deepEqual(await reply.json(), {
        "org-id": key.orgId,
        "org-name": "acme",
        tier: "free",
        limits: { "parallel-runs": 1, "runs-per-day": 50 },
        usage: { "runs-today": 0 },
        actor: key.keyId,
      });
    }
  });

  it("turns away no key, a wrong key, and a key with one letter changed", async () => {
    await using service = await serviceOn(store);
    const { secret } = await service.key();
    const changed = `${secret.slice(0, -1)}${secret.endsWith("A") ? "B" : "A"}`;
    for (const key of [undefined, "nonsense", changed]) {
      const reply = await service.fetch(
        "/api/org",
        key === undefined ? {} : { headers: { "x-api-key": key } },
      );
      assert.equal(reply.status, 401);
      assert.equal(((await reply.json()) as { error: { type: string } }).error.type, "unauthorized");
    }
  });

  it("lets a viewer look and nothing else", async () => {
    await using service = await serviceOn(store);
    const { client } = await service.member();
    await service.write("long", programPipeline(untilCancelled));
    const run = await started(client, "long");
    const viewer = service.client((await service.key("viewer")).secret);
    assert.equal((await viewer.run(run.runId, never)).status, "running");
    const forbidden = { type: "forbidden" };
    await assert.rejects(viewer.cancel(run.runId, never), forbidden);
    await assert.rejects(started(viewer, "long"), forbidden);
    assert.equal((await client.run(run.runId, never)).status, "running");
  });

  it("shows an org nothing of another's", async () => {
    await using service = await serviceOn(store);
    const { client } = await service.member();
    await service.write("hello", programPipeline(""));
    const run = await started(client, "hello");
    await ended(client, run);
    const other = service.client((await service.key("owner", "other")).secret);
    await assert.rejects(other.run(run.runId, never), { type: "not-found" });
    await assert.rejects(other.cancel(run.runId, never), { type: "not-found" });
    assert.deepEqual((await other.runs({}, never)).runs, []);
    assert.equal((await other.org(never)).usage.runsToday, 0);
    assert.deepEqual((await other.pipelines(undefined, never)).pipelines, []);
  });

  it("tells what is wrong with a body that is not JSON, or of the wrong shape", async () => {
    await using service = await serviceOn(store);
    const { secret } = await service.member();
    const post = (body: string) =>
      service.fetch("/api/runs", { method: "POST", headers: { "x-api-key": secret }, body });
    const statusAndText = async (body: string) => {
      const reply = await post(body);
      return `${reply.status} ${await reply.text()}`;
    };
    assert.match(await statusAndText("{"), /^400 .*not JSON/);
    assert.match(await statusAndText("{}"), /^400 .*`pipeline` is missing/);
    assert.match(await statusAndText('{"pipeline":7}'), /^400 .*`pipeline` should be a string/);
    assert.match(await statusAndText("[]"), /^400 /);
  });

  it("tells every change by events, the org first", async () => {
    await using service = await serviceOn(store);
    const { client, secret } = await service.member();
    const go = join(service.project.root, "go");
    await service.write("patient", programPipeline(untilFile(go)));
    const reading = new AbortController();
    const reply = await service.fetch("/api/events", {
      headers: { "x-api-key": secret },
      signal: reading.signal,
    });
    assert.equal(reply.headers.get("content-type"), "text/event-stream");
    const { body } = reply;
    assert(body !== null);
    const told = new Told<string>();
    const isRead = (async () => {
      for await (const chunk of body.pipeThrough(new TextDecoderStream())) told.tell(chunk);
    })();
    const tells = (what: RegExp) => told.until(() => what.test(told.all.join("")));
    await tells(/^retry: \d+\n\nid: 0\nevent: org\ndata: .*"runs-today":0/);
    const run = await started(client, "patient");
    await tells(/event: org\ndata: .*"runs-today":1/);
    await tells(/event: run\ndata: .*"status":"running"/);
    await writeFile(go, "");
    await tells(/event: run\ndata: .*"status":"succeeded"/);
    await ended(client, run);
    reading.abort();
    await assert.rejects(isRead, { name: "AbortError" });
  });

  it("tells everyone at 00:00 UTC that the count has started again", async () => {
    const clock = new FakeClock("2026-03-04T23:59:50Z");
    await using service = await serviceOn(store, { clock });
    const { orgId, secret } = await service.member();
    await fillDayOf(service.db, 3, clock.now(), orgId);
    const reading = new AbortController();
    const reply = await service.fetch("/api/events", {
      headers: { "x-api-key": secret },
      signal: reading.signal,
    });
    let text = "";
    const decoder = new TextDecoder();
    for await (const chunk of reply.body ?? []) {
      text += decoder.decode(chunk, { stream: true });
      if (text.includes('"runs-today":0')) break;
      if (text.includes('"runs-today":3')) await service.turn(10_000);
    }
    reading.abort();
    assert.match(text, /"runs-today":0/);
  });
});

describe("the embedded service over HTTP", () => {
  it("lists the pipelines, also a broken one with file, line and column", async () => {
    await using service = await startedService();
    const { client } = await service.member();
    await service.write("hello", programPipeline(""));
    await service.write(
      "broken",
      "resources:\n  shell: { type: clii }\nsteps:\n  - use: shell\n    run: true\n",
    );
    const { pipelines } = await client.pipelines(service.project.name, never);
    assert.deepEqual(
      pipelines.map(({ name }) => name),
      ["broken", "hello"],
    );
    assert.match(pipelines[0]?.problem ?? "", /^pipelines\/broken\.yaml:2:\d+: /);
    assert.deepEqual(pipelines[1]?.resourceTypes, ["cli"]);
    await assert.rejects(started(client, "broken"), {
      type: "invalid-request",
      message: /broken\.yaml:2:\d+/,
    });
  });

  it("tells all problems of a pipeline file, each on its line; of more than fifty the first", async () => {
    await using service = await startedService();
    const { client } = await service.member();
    const steps = (count: number) => "  - { use: shel, run: a }\n".repeat(count);
    const problems = async (count: number) => {
      await service.write("broken", `resources: { shell: { type: cli } }\nsteps:\n${steps(count)}`);
      const { pipelines } = await client.pipelines(service.project.name, never);
      const listed = pipelines[0]?.problem?.split("\n") ?? [];
      await assert.rejects(started(client, "broken"), (error: unknown) => {
        assert(error instanceof PipelineError);
        assert.deepEqual(error.message.split("\n"), ["The pipeline file can't be run:", ...listed]);
        return true;
      });
      return listed;
    };
    const problem = (line: number) =>
      `pipelines/broken.yaml:${line}:12: there is no resource \`shel\`; did you mean \`shell\`?`;
    const fifty = Array.from({ length: 50 }, (_, index) => problem(index + 3));
    assert.deepEqual(await problems(7), fifty.slice(0, 7));
    assert.deepEqual(await problems(50), fifty);
    assert.deepEqual(await problems(58), [...fifty, "and 8 more"]);
  });

  it("names the nearest pipeline for a name that doesn't exist", async () => {
    await using service = await startedService();
    const { client } = await service.member();
    await service.write("nightly", programPipeline(""));
    await assert.rejects(
      started(client, "nighlty"),
      (error: { type: string; message: string; next: string }) => {
        assert.equal(error.type, "not-found");
        assert.match(`${error.message} ${error.next}`, /`nighlty`.*Did you mean `nightly`\?/);
        return true;
      },
    );
    assert.equal((await client.org(never)).usage.runsToday, 0);
  });

  it("is not there for a rebound name or another site's page", async () => {
    await using service = await startedService();
    const { secret } = await service.key();
    const status = (headers: Record<string, string>) =>
      new Promise<number | undefined>((resolve, reject) => {
        const asked = request(
          `${service.url}/api/org`,
          { headers: { "x-api-key": secret, ...headers } },
          (reply) => {
            reply.resume();
            resolve(reply.statusCode);
          },
        );
        asked.on("error", reject).end();
      });
    assert.equal(await status({}), 200);
    assert.equal(await status({ host: "evil.example" }), 403);
    assert.equal(await status({ origin: "https://evil.example" }), 403);
  });

  itOn("posix", "is held up by nothing that lies among the pipeline files", async () => {
    await using service = await startedService();
    const { client } = await service.member();
    await service.write("hello", programPipeline(""));
    const place = (name: string) => join(service.project.root, "pipelines", name);
    await promisify(execFile)(
      "mkfifo",
      ["a", "b", "c", "d", "e"].map((name) => place(`${name}.yaml`)),
    );
    await symlink("/dev/zero", place("zero.yaml"));
    await symlink("loop.yaml", place("loop.yaml"));
    await mkdir(place("folder.yaml"));
    await service.write("huge", "#".repeat(1024 * 1024 + 1));
    const { pipelines } = await client.pipelines(service.project.name, never);
    assert.deepEqual(
      pipelines.filter(({ problem }) => problem === undefined).map(({ name }) => name),
      ["hello"],
    );
    assert.match(
      pipelines.find(({ name }) => name === "a")?.problem ?? "",
      /a\.yaml:1:1: this is no plain file/,
    );
    assert.match(pipelines.find(({ name }) => name === "huge")?.problem ?? "", /larger than 1 MiB/);
  });

  it("refuses a project's name that can't be shown", async () => {
    await using service = await startedService();
    const { client } = await service.member();
    for (const name of ["a\u0000b", "a\nb", "x".repeat(201)]) {
      await assert.rejects(client.putProject(name, service.project.root, never), { type: "invalid-request" });
    }
  });
});
