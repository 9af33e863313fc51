import assert from "node:assert/strict";
import { randomBytes } from "node:crypto";
import { once } from "node:events";
import { createServer } from "node:http";
import type { Socket } from "node:net";
import { setTimeout as pause, setImmediate } from "node:timers/promises";
import { setFlagsFromString } from "node:v8";
import { runInNewContext } from "node:vm";
import { systemClock } from "../../../src/machine/clock.ts";
import {
  ObjectStore,
  ObjectStoreError,
  objectStoreSettings,
  pieceBytes,
} from "../../../src/team/store/objectStore.ts";
import { Told } from "../../client/told.ts";
import { forSuite } from "../../forSuite.ts";
import { Listening } from "../../listening.ts";
import { startedObjectStore } from "../../objectStore/startedObjectStore.ts";

describe("an object store", () => {
  const server = forSuite(startedObjectStore);
  const store = (...of: Parameters<ReturnType<typeof server>["settings"]>) =>
    new ObjectStore(server().settings(...of), systemClock.now);

  it("keeps bytes below its prefix, and gives any piece of them", async () => {
    const own = store("s3://runs/team/a-1");
    const content = randomBytes(pieceBytes + 1000);
    await own.put("runs/run_1/log", content);
    assert.deepEqual(await server().keys(), ["team/a-1/runs/run_1/log"]);
    const object = await own.open("runs/run_1/log");
    assert(object !== undefined && object.size === content.length);
    for (const [position, length] of [
      [0, pieceBytes],
      [0, 1],
      [pieceBytes - 1, 2],
      [content.length - 500, 500],
      [0, content.length],
    ] as const) {
      const piece = await object.at(position, length);
      assert(piece.equals(content.subarray(position, position + length)), `${length} bytes at ${position}`);
    }
    await own.put("runs/run_1/log", Buffer.from("another"));
    assert.equal(String(await server().get("team/a-1/runs/run_1/log")), "another");
    await own.delete("runs/run_1/log");
    await own.delete("runs/run_1/log");
    assert.equal(await own.open("runs/run_1/log"), undefined);
    assert.deepEqual(await server().keys(), []);
  });

  it("says so where an object has been cut short since", async () => {
    const own = store();
    await own.put("cut", randomBytes(pieceBytes * 2));
    const object = await own.open("cut");
    await own.put("cut", randomBytes(pieceBytes + 1));
    await assert.rejects(async () => object?.at(pieceBytes, pieceBytes), /gives 1 of 1048576 bytes of cut/);
    await own.delete("cut");
  });

  it("gives what is empty: Amazon answers that no range of it can be had", async () => {
    await using amazon = await Listening.of(
      createServer((_, response) => {
        response
          .writeHead(416)
          .end("<Error><Code>InvalidRange</Code><Message>The requested range…</Message></Error>");
      }),
    );
    const empty = await store("s3://runs", { AWS_ENDPOINT_URL_S3: amazon.origin }).open("empty");
    assert.equal(empty?.size, 0);
  });

  it("is tried by an object that doesn't stay", async () => {
    await store().probe();
    assert.deepEqual(await server().keys(), []);
  });

  it("says why it refuses: another secret, an unknown key, no such bucket", async () => {
    for (const [other, says] of [
      [
        store("s3://runs", { AWS_SECRET_ACCESS_KEY: "wrong" }),
        /answers SignatureDoesNotMatch: The request signature/,
      ],
      [store("s3://runs", { AWS_ACCESS_KEY_ID: "unknown" }), /answers InvalidAccessKeyId: /],
      [store("s3://missing"), /answers NoSuchBucket: /],
    ] as const) {
      for (const act of [() => other.probe(), () => other.open("runs/run_1/log")]) {
        await assert.rejects(act, (error) => {
          assert(error instanceof ObjectStoreError && error.isRefusal);
          assert.match(error.message, says);
          return true;
        });
      }
    }
  });

  it("is out of reach where nobody answers, which is no refusal", async () => {
    const nobody = store("s3://runs", { AWS_ENDPOINT_URL_S3: "http://127.0.0.1:1" });
    await assert.rejects(nobody.open("a"), (error) => {
      assert(error instanceof ObjectStoreError && !error.isRefusal);
      assert.match(error.message, /^it is out of reach: .+/);
      return true;
    });
  });

  it("may take long for what is large, as long as it takes some of it, and is out of reach where it takes no more", async () => {
    const silent = 1_000;
    const large = Buffer.alloc(64 * 1024 * 1024);
    await using slow = await Listening.of(
      createServer(async (request, response) => {
        let taken = 0;
        let rests = 0;
        for await (const piece of request) {
          taken += piece.length;
          if (taken < (large.length / 20) * (rests + 1)) continue;
          rests += 1;
          if (request.url === "/runs/never" && rests === 3) await once(request, "close");
          await pause(silent / 10);
        }
        response.end();
      }),
    );
    const settings = server().settings("s3://runs", { AWS_ENDPOINT_URL_S3: slow.origin });
    const own = new ObjectStore(settings, systemClock.now, silent);
    await own.put("slow", large);
    await assert.rejects(own.put("never", large), /out of reach: /);
  });

  it("is left by who doesn't wait any more while it says nothing, also once the garbage has been collected", async () => {
    const asked = new Told<Socket>();
    await using silent = await Listening.of(asked.tell);
    const leaving = new AbortController();
    const putting = store("s3://runs", { AWS_ENDPOINT_URL_S3: silent.origin }).put(
      "a",
      Buffer.alloc(10),
      leaving.signal,
    );
    await asked.atLeast(1);
    setFlagsFromString("--expose-gc");
    const collectGarbage: () => void = runInNewContext("gc");
    for (let round = 0; round < 5; round++) {
      collectGarbage();
      await setImmediate();
    }
    leaving.abort();
    await assert.rejects(putting, /out of reach: .*aborted/);
  });

  it("is asked at the time that it is given: a store refuses what is a quarter of an hour off", async () => {
    const times: unknown[] = [];
    await using other = await Listening.of(
      createServer((request, response) => {
        times.push(request.headers["x-amz-date"]);
        response.end();
      }),
    );
    const settings = server().settings("s3://runs", { AWS_ENDPOINT_URL_S3: other.origin });
    await new ObjectStore(settings, () => Date.parse("2026-03-04T05:06:07.890Z")).delete("a");
    assert.deepEqual(times, ["20260304T050607Z"]);
  });
});

describe("the name of an object store", () => {
  const keys = { AWS_ACCESS_KEY_ID: "id", AWS_SECRET_ACCESS_KEY: "secret" };
  const amazon = { ...keys, AWS_REGION: "eu-west-1" };

  it("leads to Amazon, or to an endpoint with the bucket in the path", () => {
    const places = [
      ["s3://runs", amazon, "https://runs.s3.eu-west-1.amazonaws.com/", "s3://runs"],
      ["s3://runs/a/b/", amazon, "https://runs.s3.eu-west-1.amazonaws.com/a/b/", "s3://runs/a/b"],
      [
        "s3://runs/a",
        { ...keys, AWS_ENDPOINT_URL: "http://minio:9000/" },
        "http://minio:9000/runs/a/",
        "s3://runs/a at http://minio:9000",
      ],
      [
        "s3://runs",
        { ...keys, AWS_ENDPOINT_URL_S3: "https://example.com/storage/s3/" },
        "https://example.com/storage/s3/runs/",
        "s3://runs at https://example.com/storage/s3",
      ],
      [
        "s3://runs",
        { ...amazon, AWS_ENDPOINT_URL: "http://other", AWS_ENDPOINT_URL_S3: "https://s3.example.com" },
        "https://s3.example.com/runs/",
        "s3://runs at https://s3.example.com",
      ],
    ] as const;
    for (const [named, env, root, name] of places) {
      const settings = objectStoreSettings(named, env);
      assert.deepEqual([settings.root, settings.name], [root, name]);
    }
    const { region, sessionToken } = objectStoreSettings("s3://runs", {
      ...keys,
      AWS_ENDPOINT_URL_S3: "https://s3.example.com",
      AWS_SESSION_TOKEN: "token",
      AWS_REGION: "",
    });
    assert.deepEqual([region, sessionToken], ["us-east-1", "token"]);
  });

  it("is refused with what to write instead", () => {
    const wrong = [
      ["runs", amazon, /names no object store.*/],
      ["s3://", amazon, /names no object store/],
      ["s3://runs/../other", amazon, /names no object store/],
      ["s3://runs/a b", amazon, /names no object store/],
      ["https://s3.example.com/runs", amazon, /names no object store/],
      ["s3://runs", { AWS_REGION: "eu-west-1" }, /key is missing/],
      ["s3://runs", { ...amazon, AWS_SECRET_ACCESS_KEY: "" }, /key is missing/],
      ["s3://runs", keys, /region is missing/],
      ["s3://runs", { ...keys, AWS_ENDPOINT_URL_S3: "minio:9000" }, /address is `minio:9000`/],
    ] as const;
    for (const [named, env, message] of wrong)
      assert.throws(() => objectStoreSettings(named, env), { type: "usage", message });
  });
});
