import assert from "node:assert/strict";
import { appendFile, readFile, stat, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { setImmediate as turn } from "node:timers/promises";
import { ServiceClient } from "../../../src/client/service/client.ts";
import { type LogEntry, logEntrySchema } from "../../../src/contract/log.ts";
import { fromWire } from "../../../src/contract/wire.ts";
import { FakeClock } from "../../clock/fakeClock.ts";
import { itOn } from "../../itOn.ts";
import { onBoth } from "../onBoth.ts";
import { cutOff, openStream, unreadReply } from "../openStream.ts";
import { serviceOn } from "../serviceOn.ts";
import { startedProgram } from "../startedProgram.ts";
import {
  atRest,
  ended,
  programPipeline,
  type Service,
  started,
  startedService,
  untilCancelled,
} from "../startedService.ts";

const never = new AbortController().signal;

/** A program that says a line each time it finds a file of the next number, and ends at the one that is asked for. */
function saysOnDemand({ project }: Service, count: number): string {
  return `const fs = require("node:fs"); let n = 1; const look = () => {
    if (!fs.existsSync(${JSON.stringify(join(project.root, "say-"))} + n)) return void setTimeout(look, 5);
    console.log("line " + n); n += 1; if (n <= ${count}) look(); }; look();`;
}

onBoth("the log of a run", (store) => {
  it("is told from its beginning, then live, and ends with the run's end", async () => {
    await using service = await serviceOn(store);
    const { client, secret } = await service.member();
    await service.write("talk", programPipeline(saysOnDemand(service, 2)));
    const { runId } = await started(client, "talk");
    await say(service, 1);
    await using stream = await openStream(logOf(service, runId), { "x-api-key": secret });
    await stream.events.untilOne(({ data }) => data["text"] === "line 1\n");
    await say(service, 2);
    assert.equal(await stream.ended, "in order");
    const { all } = stream.events;
    assert.deepEqual(all.at(-1), {
      id: undefined,
      event: "end",
      data: { "run-id": runId, status: "succeeded" },
    });
    const entries = all.slice(0, -1);
    assert.deepEqual(
      entries.map(({ id, event, data }) => [id, event, data["sequence"]]),
      entries.map((_, index) => [`${index + 1}`, "log", index + 1]),
    );
    assert.deepEqual(
      entries.map(({ data }) => [data["step-index"], data["stream"], data["text"]]).slice(0, 3),
      [
        [0, "note", `$ ${process.execPath} -e ${JSON.stringify(saysOnDemand(service, 2))}\n`],
        [0, "stdout", "line 1\n"],
        [0, "stdout", "line 2\n"],
      ],
    );
    // The end of the run was in the database before its log said so.
    assert.equal((await client.run(runId, never)).status, "succeeded");
  });

  it("is JSON lines for who asks for no events, the same for every reader", async () => {
    await using service = await serviceOn(store);
    const { client, secret } = await service.member();
    await service.write("hello", programPipeline("console.log('hello'); console.error('there')"));
    const { runId } = await started(client, "hello");
    const replies = await Promise.all(
      [undefined, "*/*", "application/x-ndjson", "text/plain"].map((accept) =>
        service.fetch(`/api/runs/${runId}/log`, {
          headers: { "x-api-key": secret, ...(accept === undefined ? {} : { accept }) },
        }),
      ),
    );
    const [first = "", ...others] = await Promise.all(replies.map((reply) => reply.text()));
    for (const reply of replies) assert.equal(reply.headers.get("content-type"), "application/x-ndjson");
    for (const other of others) assert.equal(other, first);
    const entries = entriesOf(first);
    assert.equal(textOf(entries, "stdout"), "hello\n");
    assert.equal(textOf(entries, "stderr"), "there\n");
    assert.deepEqual(
      entries.map(({ sequence }) => sequence),
      entries.map((_, index) => index + 1),
    );
  });

  it("goes on behind the entry that a reader names, in the address or in the header", async () => {
    await using service = await serviceOn(store);
    const { client, secret } = await service.member();
    await service.write("hello", programPipeline("console.log('hello')"));
    const { runId } = await ended(client, await started(client, "hello"));
    const all = entriesOf(await logText(service, secret, runId));
    assert.equal(all.length, 3);
    for (let after = 0; after <= all.length + 2; after += 1) {
      assert.deepEqual(entriesOf(await logText(service, secret, runId, `?after=${after}`)), all.slice(after));
      // The header is newer than the address that a browser asks again.
      await using stream = await openStream(`${logOf(service, runId)}?after=0`, {
        "x-api-key": secret,
        "last-event-id": `${after}`,
      });
      await stream.ended;
      assert.deepEqual(
        stream.events.all.map(({ id }) => id),
        [...all.slice(after).map(({ sequence }) => `${sequence}`), undefined],
      );
    }
    for (const wrong of ["-1", "x", "1.5", ""]) {
      const reply = await service.fetch(`/api/runs/${runId}/log?after=${wrong}`, {
        headers: { "x-api-key": secret },
      });
      assert.equal(reply.status, 400, wrong);
    }
  });

  it("ends with what is there now when it shall not be followed", async () => {
    await using service = await serviceOn(store);
    const { client, secret } = await service.member();
    await service.write("talk", programPipeline(saysOnDemand(service, 2)));
    const { runId } = await started(client, "talk");
    await using live = await openStream(logOf(service, runId), { "x-api-key": secret });
    await say(service, 1);
    await live.events.untilOne(({ data }) => data["text"] === "line 1\n");
    await using stream = await openStream(`${logOf(service, runId)}?follow=false`, { "x-api-key": secret });
    assert.equal(await stream.ended, "in order");
    const [last] = stream.events.all.slice(-1);
    assert.equal(last?.event, "end");
    assert.deepEqual(last?.data, { "run-id": runId, status: "running" });
    const lines = entriesOf(await logText(service, secret, runId, "?follow=false"));
    assert.equal(lines.at(-1)?.text, "line 1\n");
    const wrong = await service.fetch(`/api/runs/${runId}/log?follow=no`, {
      headers: { "x-api-key": secret },
    });
    assert.equal(wrong.status, 400);
    await say(service, 2);
    await live.ended;
  });

  it("is lost and doubled nowhere for a reader that is cut off again and again", async () => {
    await using service = await serviceOn(store);
    const { client, secret } = await service.member();
    const lines = 500;
    const program = `let n = 0; const go = () => { console.log("line " + n); if (++n < ${lines}) setImmediate(go); }; go();`;
    await service.write("loud", programPipeline(program));
    const { runId } = await started(client, "loud");
    const sequences: number[] = [];
    let text = "";
    for (let isOver = false; !isOver; ) {
      const stream = await openStream(logOf(service, runId), {
        "x-api-key": secret,
        ...(sequences.length === 0 ? {} : { "last-event-id": `${sequences.at(-1)}` }),
      });
      const most = 1 + (sequences.length % 5);
      await Promise.race([stream.events.atLeast(most), stream.ended]);
      stream.leave();
      for (const { event, data } of stream.events.all) {
        if (event === "end") isOver = true;
        else sequences.push(Number(data["sequence"]));
        if (data["stream"] === "stdout") text += data["text"];
      }
    }
    assert.deepEqual(
      sequences,
      sequences.map((_, index) => index + 1),
    );
    assert.equal(text, Array.from({ length: lines }, (_, line) => `line ${line}\n`).join(""));
  });

  it("is nobody's but its org's", async () => {
    await using service = await serviceOn(store);
    const { client, secret } = await service.member();
    await service.write("hello", programPipeline("console.log('hello')"));
    const { runId } = await ended(client, await started(client, "hello"));
    const other = await service.key("owner", "other");
    const status = async (key: string | undefined, id: string) =>
      (await service.fetch(`/api/runs/${id}/log`, { headers: key === undefined ? {} : { "x-api-key": key } }))
        .status;
    assert.equal(await status(other.secret, runId), 404);
    assert.equal(await status(undefined, runId), 401);
    assert.equal(await status(secret, "run_none"), 404);
    assert.equal(await status(secret, "..%2f..%2fservice.json"), 404);
    assert.equal(await status((await service.key("viewer")).secret, runId), 200);
  });

  it("ends for its readers when the service stops, and goes on with the next one", async () => {
    await using service = await serviceOn(store);
    const { client, secret } = await service.member();
    await service.write("long", programPipeline(`console.log('here'); ${untilCancelled}`));
    const { runId } = await started(client, "long");
    const stream = await openStream(logOf(service, runId), { "x-api-key": secret });
    await stream.events.untilOne(({ data }) => data["text"] === "here\n");
    await service.restart();
    await stream.ended;
    // The embedded service has ended it; on many machines it goes on.
    await service.client(secret).cancel(runId, never);
    const seen = stream.events.all.filter(({ event }) => event === "log").length;
    await using resumed = await openStream(`${logOf(service, runId)}?after=${seen}`, { "x-api-key": secret });
    assert.equal(await resumed.ended, "in order");
    assert.deepEqual(resumed.events.all.at(-1)?.data, { "run-id": runId, status: "cancelled" });
  });
});

describe("the log of a run of the embedded service", () => {
  it("is over as soon as the run is, also when nobody held that", async () => {
    const clock = new FakeClock("2026-03-04T12:00:00Z");
    await using service = await startedService({ clock });
    const { orgId, keyId, secret } = await service.key();
    const runId = "run_01kjpzv280ymxxabs8wt3h616h";
    await service.db
      .insertInto("runs")
      .values({
        ...{ id: runId, org_id: orgId, project: "p", pipeline: "p", actor: keyId, runner: "r" },
        ...{ status: "running", day: "2026-03-04", created_at: clock.now(), stopped_at: null, reason: null },
        ...{ time_limit_seconds: 30, idempotency_key: null },
      })
      .execute();
    const headers = { "x-api-key": secret };
    await using stream = await openStream(`${service.url}/api/runs/${runId}/log`, headers);
    await service.fetch(`/api/runs/${runId}/cancel`, { method: "POST", headers });
    await stream.events.atLeast(1);
    assert.equal((await service.client(secret).run(runId, never)).status, "lost");
  });

  it("is empty for a run that has none, and shows a cancelled run's end", async () => {
    await using service = await startedService();
    const { client, secret } = await service.member();
    await service.write("long", programPipeline(untilCancelled));
    const run = await started(client, "long");
    await using stream = await openStream(logOf(service, run.runId), { "x-api-key": secret });
    await client.cancel(run.runId, never);
    assert.equal(await stream.ended, "in order");
    assert.deepEqual(stream.events.all.at(-1)?.data, { "run-id": run.runId, status: "cancelled" });
    const { orgId } = await service.key();
    await service.db
      .insertInto("runs")
      .values({ ...(await anyRow(service)), id: "run_old", org_id: orgId, idempotency_key: null })
      .execute();
    assert.equal(await logText(service, secret, "run_old"), "");
  });

  itOn("posix", "lies in the run's own folder, for this user's eyes only", async () => {
    await using service = await startedService();
    const { client } = await service.member();
    await service.write("hello", programPipeline("console.log('hello')"));
    const { runId } = await ended(client, await started(client, "hello"));
    const folder = join(service.data, "runs", runId);
    assert.equal((await stat(folder)).mode & 0o777, 0o700);
    assert.equal((await stat(join(folder, "log.ndjson"))).mode & 0o777, 0o600);
  });

  it("sends a comment after 15 s of silence, and leaves nothing behind when its reader leaves", async () => {
    const clock = new FakeClock("2026-03-04T12:00:00Z");
    await using service = await startedService({ clock });
    await atRest(clock);
    const { client, secret } = await service.member();
    await service.write("long", programPipeline(untilCancelled, "1h"));
    const { runId } = await started(client, "long");
    await using stream = await openStream(logOf(service, runId), { "x-api-key": secret });
    await stream.events.atLeast(1);
    const before = clock.alarms;
    while (stream.comments.all.length === 0) {
      clock.advance(15_000);
      await turn();
    }
    const head = await fetch(logOf(service, runId), { method: "HEAD", headers: { "x-api-key": secret } });
    assert.equal(head.status, 200);
    stream.leave();
    while (clock.alarms >= before) await turn();
  });

  it("fills no memory for readers that don't read, and cuts them off after a minute", async () => {
    const clock = new FakeClock("2026-03-04T12:00:00Z");
    await using service = await startedService({ clock });
    const { client, secret } = await service.member();
    await service.write("hello", programPipeline("console.log('hello')"));
    const { runId } = await ended(client, await started(client, "hello"));
    await enlarge(service, runId, 20_000_000);
    const unread = await unreadReply(logOf(service, runId), { "x-api-key": secret });
    await cutOff(service, clock);
    const { bytes, isWhole } = await unread.rest();
    assert.ok(bytes < 15_000_000 && !isWhole, `${bytes} bytes`);
    // One that reads gets all of it.
    assert.ok((await logText(service, secret, runId)).length > 20_000_000);
  });

  it("costs no run its success when it can't be written", async () => {
    await using service = await startedService();
    const { client, secret } = await service.member();
    await writeFile(join(service.data, "runs"), "in the way");
    await service.write("hello", programPipeline("console.log('hello')"));
    const run = await ended(client, await started(client, "hello"));
    assert.equal(run.status, "succeeded");
    assert.match(service.logged.join("\n"), /log not written/);
    const reply = await service.fetch(`/api/runs/${run.runId}/log`, { headers: { "x-api-key": secret } });
    assert.equal(reply.status, 200);
  });

  itOn("posix", "goes on with its numbers after its service was killed, without the half line", async () => {
    await using service = await startedService();
    const { secret } = await service.member();
    const key = await service.key();
    await service.write("talk", programPipeline(saysOnDemand(service, 1000)));
    await service.stop();
    await using program = await startedProgram(["serve", service.data]);
    const url = program.firstLine;
    const own = new ServiceClient({ baseUrl: new URL(`${url}/`), apiKey: key.secret });
    const { runId } = await started(own, "talk");
    const stream = await openStream(`${url}/api/runs/${runId}/log`, { "x-api-key": key.secret });
    for (let line = 1; line <= 5; line++) {
      await say(service, line);
      await stream.events.untilOne(({ data }) => data["text"] === `line ${line}\n`);
    }
    program.kill("SIGKILL");
    await program.exited;
    await stream.ended;
    const seen = stream.events.all.map(({ data }) => data);
    // As if it had been killed in the middle of a write.
    await appendFile(join(service.data, "runs", runId, "log.ndjson"), '{"sequence":7,"at":"20');
    await service.restart();
    const all = entriesOf(await logText(service, secret, runId));
    assert.deepEqual(
      all.map(({ sequence }) => sequence),
      all.map((_, index) => index + 1),
    );
    assert.equal(all.length, seen.length + 1);
    assert.equal(textOf(all, "stdout"), "line 1\nline 2\nline 3\nline 4\nline 5\n");
    assert.equal(all.at(-1)?.text, "the service died while it ran\n");
    await using resumed = await openStream(logOf(service, runId), {
      "x-api-key": secret,
      "last-event-id": `${seen.length}`,
    });
    await resumed.ended;
    assert.deepEqual(
      resumed.events.all.map(({ event }) => event),
      ["log", "end"],
    );
    assert.equal((await service.client(secret).run(runId, never)).status, "lost");
  });
});

function logOf(service: Service, runId: string): string {
  return `${service.url}/api/runs/${runId}/log`;
}

async function logText(service: Service, secret: string, runId: string, query = ""): Promise<string> {
  const reply = await service.fetch(`/api/runs/${runId}/log${query}`, { headers: { "x-api-key": secret } });
  assert.equal(reply.status, 200);
  return reply.text();
}

function entriesOf(lines: string): LogEntry[] {
  return lines
    .split("\n")
    .slice(0, -1)
    .map((line) => {
      const parsed = fromWire(logEntrySchema, JSON.parse(line));
      return parsed.kind === "valid" ? parsed.value : assert.fail(parsed.problem);
    });
}

function textOf(entries: readonly LogEntry[], stream: string): string {
  return entries
    .filter((entry) => entry.stream === stream)
    .map(({ text }) => text)
    .join("");
}

/** Lets the program of `saysOnDemand` say its n-th line. */
async function say(service: Service, line: number): Promise<void> {
  await writeFile(join(service.project.root, `say-${line}`), "");
}

async function anyRow(service: Service) {
  return service.db.selectFrom("runs").selectAll().executeTakeFirstOrThrow();
}

/** Writes the log of an ended run so long as if the run had said much more. */
async function enlarge(service: { readonly data: string }, runId: string, bytes: number): Promise<void> {
  const file = join(service.data, "runs", runId, "log.ndjson");
  const lines = (await readFile(file, "utf8")).trimEnd().split("\n");
  const entry = JSON.parse(lines.at(-1) ?? "");
  const text = "x".repeat(30_000);
  for (let sequence = lines.length + 1; bytes > 0; sequence++) {
    const line = `${JSON.stringify({ ...entry, sequence, text })}\n`;
    await appendFile(file, line);
    bytes -= line.length;
  }
}
