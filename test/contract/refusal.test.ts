import assert from "node:assert/strict";
import * as fc from "fast-check";
import { secondsToReset } from "../../src/contract/limits.ts";
import { type RefusingReply, readRefusal } from "../../src/contract/refusal.ts";
import { holds } from "./holds.ts";

const servedAt = "Tue, 03 Mar 2026 22:48:00 GMT";
const toReset = 4320;
const callersNow = Date.parse("2026-03-03T10:00:00Z");

interface Others {
  readonly status?: number;
  readonly date?: string | undefined;
  readonly retryAfter?: string | undefined;
}

function reply(body: unknown, others: Others = {}): RefusingReply {
  const { status = 429, date, retryAfter } = { date: servedAt, ...others };
  const headers = new Map([
    ["date", date],
    ["retry-after", retryAfter],
  ]);
  return {
    status,
    body: typeof body === "string" ? body : JSON.stringify(body),
    headers: { get: (name) => headers.get(name) ?? null },
  };
}

const read = (body: unknown, others: Others = {}) => readRefusal(reply(body, others), callersNow);
const org = { scope: "org" };
const freeDay = { scope: "free-day", secondsToReset: toReset };

describe("a refusal", () => {
  describe("is read from a body that has", () => {
    const message = "no place";
    it("the error as an object with the scope inside it", () => {
      assert.deepEqual(read({ error: { type: "too-many-runs", message, scope: "org" } }), org);
      assert.deepEqual(read({ error: { type: "too-many-runs", message, scope: "free-day" } }), freeDay);
    });

    it("the error as an object with the scope beside it", () => {
      assert.deepEqual(read({ error: { type: "too-many-runs", message }, scope: "org" }), org);
      assert.deepEqual(read({ error: { type: "too-many-runs", message }, scope: "free-day" }), freeDay);
    });

    it("the error as a string with the scope beside it", () => {
      assert.deepEqual(read({ error: "too-many-runs", scope: "org" }), org);
      assert.deepEqual(read({ error: "too-many-runs", scope: "free-day" }), freeDay);
    });

    it("the error under another name", () => {
      assert.deepEqual(read({ error: { code: "too-many-runs", scope: "free-day" } }), freeDay);
      assert.deepEqual(read({ code: "too-many-runs", details: { scope: "free-day" } }), freeDay);
      assert.deepEqual(read({ errors: [{ name: "too-many-runs", scope: "free-day" }] }), freeDay);
    });

    it("a problem of RFC 9457 with the scope as its member", () => {
      const type = "https://pipelines.example.com/problems/too-many-runs";
      assert.deepEqual(read({ type, title: "Too many runs", status: 429, scope: "org" }), org);
      assert.deepEqual(read({ type, title: "Too many runs", status: 429, scope: "free-day" }), freeDay);
      assert.deepEqual(
        read({ type: "urn:problem:too-many-runs", scope: "free-day" }, { status: 403 }),
        freeDay,
      );
    });

    it("the scope only in its sentence", () => {
      const sentence = "Scope free-day: the day's runs are used.";
      assert.deepEqual(read({ error: { type: "too-many-runs", message: sentence } }), freeDay);
    });

    it("no scope at all, as one of scope org", () => {
      assert.deepEqual(read({ error: { type: "too-many-runs", message } }), org);
      assert.deepEqual(read({ error: "too-many-runs" }), org);
      assert.deepEqual(read({ error: { type: "too-many-runs", scope: "galaxy" } }), org);
    });

    it("no JSON, by the status alone", () => {
      for (const body of ["", "Too Many Requests", "<html>free-day</html>", "{", "null", "7", "[]"]) {
        assert.deepEqual(read(body), org, body);
      }
    });
  });

  it("believes the scope before the sentence", () => {
    assert.deepEqual(read({ error: "too-many-runs", scope: "org", message: "unlike free-day" }), org);
  });

  it("counts by its name under any status of an error", () => {
    for (const status of [400, 402, 403, 409, 429, 503]) {
      assert.deepEqual(read({ error: { type: "too-many-runs", scope: "free-day" } }, { status }), freeDay);
    }
  });

  it("is none when neither the name nor the status says so", () => {
    for (const status of [200, 201, 302]) {
      assert.equal(read({ error: { type: "too-many-runs", scope: "org" } }, { status }), undefined);
    }
    for (const status of [400, 401, 404, 500, 503]) {
      assert.equal(
        read({ error: { type: "conflict", message: "too-many-runs again" } }, { status }),
        undefined,
      );
      assert.equal(read("too-many-runs", { status }), undefined);
    }
  });

  describe("of the day tells its seconds", () => {
    const body = { error: "too-many-runs", scope: "free-day" };

    it("on the service's clock, however wrong the caller's is", () => {
      holds(
        fc.property(fc.integer({ min: 0, max: 4_102_444_800_000 }), (now) => {
          assert.deepEqual(readRefusal(reply(body, { retryAfter: "7" }), now), freeDay);
        }),
      );
    });

    it("by Retry-After when the service has no Date", () => {
      const told = read(body, { date: undefined, retryAfter: "4321" });
      assert.deepEqual(told, { scope: "free-day", secondsToReset: 4321 });
    });

    it("on the caller's clock when the service tells no time at all", () => {
      const expected = { scope: "free-day", secondsToReset: secondsToReset(callersNow) };
      assert.deepEqual(read(body, { date: undefined }), expected);
      assert.deepEqual(read(body, { date: "noon", retryAfter: "soon" }), expected);
    });
  });

  it("is read from any reply without a crash, and a 429 is always one", () => {
    const bodies = fc.oneof(
      fc.string(),
      fc.json(),
      fc.json().map((json) => json.slice(0, -1)),
    );
    holds(
      fc.property(
        fc.integer({ min: 100, max: 599 }),
        bodies,
        fc.option(fc.string()),
        (status, body, date) => {
          const refusal = read(body, { status, date: date ?? undefined });
          if (status < 400) assert.equal(refusal, undefined);
          if (status === 429) assert.notEqual(refusal, undefined);
          if (refusal?.scope === "free-day") {
            assert.ok(refusal.secondsToReset >= 1 && refusal.secondsToReset <= 86_400);
          }
        },
      ),
    );
  });

  it("is found wherever the name and the scope stand", () => {
    const keys = fc.constantFrom("error", "errors", "detail", "problem", "body", "reason");
    holds(
      fc.property(fc.array(keys, { maxLength: 30 }), keys, fc.boolean(), (path, key, besides) => {
        const named = besides
          ? { [key]: "too-many-runs", scope: "free-day" }
          : { [key]: { type: "too-many-runs", scope: "free-day" } };
        const body = path.reduce<unknown>((inner, name) => ({ [name]: inner }), named);
        assert.deepEqual(read(body, { status: 403 }), freeDay);
      }),
    );
  });
});
