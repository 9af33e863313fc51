import assert from "node:assert/strict";
import { messagesRequestSchema, workReplySchema } from "../../src/contract/runners.ts";

const elsewhere = ["", ".", "..", "../run_1", "a/b", "a\\b", "/etc", ".ssh"];

describe("what a runner and its service say to each other", () => {
  it("names a run's folder by an id that is no path elsewhere", () => {
    const isWork = (runId: string) =>
      workReplySchema.safeParse({
        runId,
        work: { path: "pipelines/nightly.yaml", text: "steps: []" },
        timeLimitSeconds: 30,
        leaseSeconds: 20,
      }).success;
    assert.deepEqual([isWork("run_1"), ...elsewhere.map(isWork)], [true, ...elsewhere.map(() => false)]);
  });

  it("names an artifact's file by what is no path elsewhere", () => {
    const isArtifact = (file: string) =>
      messagesRequestSchema.safeParse({
        runnerId: "rnr_12345678",
        first: 1,
        messages: [
          {
            ...{ kind: "artifact", index: 0, at: "2026-03-04T12:00:00Z", name: "log", file },
            ...{ mediaType: "text/plain", bytes: 1 },
          },
        ],
      }).success;
    assert.deepEqual(
      [isArtifact("0-1"), ...elsewhere.map(isArtifact)],
      [true, ...elsewhere.map(() => false)],
    );
  });

  it("has no more files of a pipeline than that can include", () => {
    const isTaken = (files: number) => {
      const texts = Object.fromEntries(Array.from({ length: files }, (_, file) => [`${file}.yaml`, "a: 1"]));
      const message = { kind: "pipeline", path: "0.yaml", texts };
      return messagesRequestSchema.safeParse({ runnerId: "rnr_12345678", first: 1, messages: [message] })
        .success;
    };
    assert.deepEqual([isTaken(21), isTaken(22)], [true, false]);
  });
});
