import assert from "node:assert/strict";
import { WorkQueues } from "../../../src/team/http/workQueues.ts";
import { FakeClock } from "../../clock/fakeClock.ts";
import { quiet } from "../../service/startedCore.ts";

/** Work by org, and runners that ask for it. */
class Place {
  readonly clock = new FakeClock("2026-03-04T12:00:00Z");
  readonly turns = new WorkQueues(this.clock);
  readonly work = new Map<string, string[]>();
  /** How often the database was asked. */
  asked = 0;
  /** What each runner was answered. */
  readonly answers = new Map<string, string | undefined>();

  async ask(runner: string, orgId: string | undefined, signal = new AbortController().signal): Promise<void> {
    const take = async () => {
      this.asked += 1;
      const queues = orgId === undefined ? [...this.work.values()] : [this.work.get(orgId) ?? []];
      return queues.find(({ length }) => length > 0)?.shift();
    };
    void this.turns
      .take(orgId, take, 30_000, signal)
      .then((answer) => void this.answers.set(runner, answer))
      .catch((error: unknown) => void this.answers.set(runner, String(error)));
    await quiet();
  }

  async offer(orgId: string, ...runs: readonly string[]): Promise<void> {
    this.work.set(orgId, [...(this.work.get(orgId) ?? []), ...runs]);
    for (const _ of runs) this.turns.ring(orgId);
    await quiet();
  }
}

describe("the requests for work that a server holds", () => {
  it("get what there is at once", async () => {
    const place = new Place();
    await place.offer("org", "run");
    await place.ask("runner", "org");
    assert.deepEqual([...place.answers], [["runner", "run"]]);
    assert.equal(place.clock.alarms, 0);
  });

  it("hear of the next work also when they got some that rang before any of them had asked", async () => {
    const place = new Place();
    await place.offer("org", "run 1", "run 2");
    for (const runner of ["first", "second", "third"]) await place.ask(runner, "org");
    await place.offer("org", "run 3");
    assert.deepEqual(
      [...place.answers],
      [
        ["first", "run 1"],
        ["second", "run 2"],
        ["third", "run 3"],
      ],
    );
  });

  it("ask one by one, in the order in which they came, as often as there is work", async () => {
    const place = new Place();
    for (const runner of ["first", "second", "third", "fourth"]) await place.ask(runner, "org");
    await place.offer("org", "run 1", "run 2");
    assert.deepEqual(
      [...place.answers],
      [
        ["first", "run 1"],
        ["second", "run 2"],
      ],
    );
    assert.equal(place.asked, 4 + 2 + 1);
  });

  it("stop at the first that gets nothing, since another server has given the work away", async () => {
    const place = new Place();
    for (const runner of ["first", "second", "third"]) await place.ask(runner, "org");
    for (let ring = 0; ring < 3; ring++) place.turns.ring("org");
    await quiet();
    assert.equal(place.asked, 3 + 1);
  });

  it("hear of their own org's work, or of every org's", async () => {
    const place = new Place();
    await place.ask("of another", "another");
    await place.ask("of every", undefined);
    await place.offer("org", "run");
    assert.deepEqual([...place.answers], [["of every", "run"]]);
  });

  it("miss no work that comes while one of them asks", async () => {
    const place = new Place();
    const { promise: answer, resolve } = Promise.withResolvers<string | undefined>();
    const answers = [Promise.resolve(undefined), answer, Promise.resolve("run")];
    const take = () => answers.shift() ?? assert.fail();
    const taken = place.turns.take("org", take, 30_000, new AbortController().signal);
    await quiet();
    place.turns.ring("org");
    await quiet();
    // Its answer is from before this.
    place.turns.ring("org");
    resolve(undefined);
    assert.equal(await taken, "run");
  });

  it("pass their turn on when their caller leaves, and ask again when anything may have happened", async () => {
    const place = new Place();
    const leaving = new AbortController();
    await place.ask("leaving", "org", leaving.signal);
    await place.ask("staying", "org");
    place.work.set("org", ["run"]);
    place.turns.ringAll();
    leaving.abort();
    await quiet();
    assert.deepEqual(
      [...place.answers],
      [
        ["leaving", undefined],
        ["staying", "run"],
      ],
    );
  });

  it("hear of work after one was given what had not rung", async () => {
    const place = new Place();
    place.work.set("org", ["given again"]);
    await place.ask("first", "org");
    await place.ask("second", "org");
    await place.offer("org", "run");
    assert.deepEqual([...place.answers.values()], ["given again", "run"]);
  });

  it("end when their time is over", async () => {
    const place = new Place();
    await place.ask("runner", "org");
    place.clock.advance(30_000);
    await quiet();
    assert.deepEqual([...place.answers], [["runner", undefined]]);
    assert.equal(place.clock.alarms, 0);
  });
});
