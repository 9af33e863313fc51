import assert from "node:assert/strict";
import { setImmediate as immediate } from "node:timers/promises";
import { PipelineError } from "../../../src/contract/errors.ts";
import type { RunnerMessage } from "../../../src/contract/runners.ts";
import { systemClock } from "../../../src/machine/clock.ts";
import { Outbox } from "../../../src/team/runnerMachine/outbox.ts";
import { FakeClock } from "../../clock/fakeClock.ts";

const at = "2026-03-04T12:00:00.000Z";
const picture = {
  ...({ kind: "artifact", index: 0, at, name: "picture.png" } as const),
  ...{ file: "0-picture.png", mediaType: "image/png", bytes: 3 },
};
const end = { kind: "ended", end: { kind: "succeeded" } } as const;

/** What the service has of a run with a picture. */
async function sentWith(deps: Partial<ConstructorParameters<typeof Outbox>[0]>) {
  const sent: RunnerMessage[] = [];
  const outbox = new Outbox({
    read: async () => new Uint8Array(3),
    upload: async () => {},
    send: async (_, messages) => void sent.push(...messages),
    isFutile: () => false,
    clock: systemClock,
    log: () => {},
    ...deps,
  });
  outbox.add(picture);
  outbox.add(end);
  assert.equal(await outbox.delivered, true);
  return sent;
}

describe("what a runner has to say of a run", () => {
  it("holds an artifact once the service has its content", async () => {
    const uploaded: number[] = [];
    const sent = await sentWith({ upload: async (_, content) => void uploaded.push(content.length) });
    assert.deepEqual([sent, uploaded], [[picture, end], [3]]);
  });

  it("is sent again until the service has it, or can't want it any more", async () => {
    for (const isGivenUp of [false, true]) {
      const clock = new FakeClock("2026-03-04T12:00:00Z");
      let attempts = 0;
      const outbox = new Outbox({
        read: () => assert.fail(),
        upload: () => assert.fail(),
        send: async () => {
          attempts += 1;
          if (attempts < 100) throw new PipelineError("out-of-reach", "away");
        },
        isFutile: () => isGivenUp && attempts === 10,
        clock,
        log: () => {},
      });
      outbox.add(end);
      let isDelivered: boolean | undefined;
      void outbox.delivered.then((is) => {
        isDelivered = is;
      });
      while (isDelivered === undefined) {
        clock.advance(2_000);
        await immediate();
      }
      assert.deepEqual([isDelivered, attempts], isGivenUp ? [false, 10] : [true, 100]);
    }
  });

  it("is sent a batch at a time, at once while there are full ones, and the rest after 100 ms", async () => {
    const clock = new FakeClock("2026-03-04T12:00:00Z");
    const batches: number[] = [];
    const outbox = new Outbox({
      read: () => assert.fail(),
      upload: () => assert.fail(),
      send: async (_, messages) => void batches.push(messages.length),
      isFutile: () => false,
      clock,
      log: () => {},
    });
    // Two of them fill a batch of 64 KiB.
    const text = "x".repeat(32 * 1024 - 100);
    const add = (count: number) => {
      for (let n = 0; n < count; n++) outbox.add({ kind: "output", index: 0, at, stream: "stdout", text });
    };
    add(7);
    await immediate();
    assert.deepEqual(batches, [2, 2, 2]);
    add(1);
    await immediate();
    assert.deepEqual(batches, [2, 2, 2, 2]);
    add(1);
    clock.advance(99);
    await immediate();
    assert.equal(batches.length, 4);
    clock.advance(1);
    await immediate();
    assert.deepEqual(batches, [2, 2, 2, 2, 1]);
    outbox.close();
    assert.equal(await outbox.delivered, false);
  });

  const note = (why: string) => {
    const text = `picture.png is lost: ${why}\n`;
    return { kind: "output", index: 0, at, stream: "note", text };
  };

  it("holds a note of an artifact whose file is gone, and the run's end as it was", async () => {
    const sent = await sentWith({ read: () => Promise.reject(new Error("ENOENT: no such file")) });
    assert.deepEqual(sent, [note("its file can't be read"), end]);
  });

  it("holds a note of an artifact that the service doesn't take", async () => {
    const refusal = new PipelineError("payload-too-large", "too large");
    const sent = await sentWith({ upload: () => Promise.reject(refusal) });
    assert.deepEqual(sent, [note("the service didn't take it"), end]);
  });
});
