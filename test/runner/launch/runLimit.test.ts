import assert from "node:assert/strict";
import { cleanupPart, RunLimit } from "../../../src/runner/launch/runLimit.ts";
import { FakeClock } from "../../clock/fakeClock.ts";

describe("a run's time limit", () => {
  /** What was asked of the run, with the time: `stop` ends it, `clean 5000` lets it clean up for so long. */
  function limited(ofFile: number | undefined, limitMilliseconds = 60_000) {
    const clock = new FakeClock("2026-03-04T12:00:00Z");
    const began = clock.monotonic();
    const asked: string[] = [];
    const say = (what: string) => asked.push(`${clock.monotonic() - began}: ${what}`);
    const limit = new RunLimit({
      ...{ clock, limitMilliseconds },
      cleanupMilliseconds: cleanupPart(limitMilliseconds, {
        timeLimitSeconds: 60,
        ...(ofFile !== undefined && { cleanupMilliseconds: ofFile }),
      }),
      job: { stop: (cleaning) => void say(cleaning === undefined ? "stop" : `clean ${cleaning}`) },
      onReached: (stepsMilliseconds) => {
        say(stepsMilliseconds === undefined ? "reached" : `reached ${stepsMilliseconds}`);
        limit.stop();
      },
    });
    return { clock, limit, asked };
  }

  it("is where a run without cleanup ends", () => {
    const { clock, asked } = limited(undefined);
    clock.advance(59_999);
    assert.deepEqual(asked, []);
    clock.advance(1);
    assert.deepEqual(asked, ["60000: reached", "60000: stop"]);
  });

  it("has the cleanup's time in it, so that the steps end earlier and the run no later", () => {
    const { clock, asked } = limited(5000);
    clock.advance(54_999);
    assert.deepEqual(asked, []);
    clock.advance(1);
    clock.advance(5000);
    assert.deepEqual(asked, ["55000: reached 55000", "55000: clean 5000", "60000: stop"]);
  });

  it("gives the cleanup what the file says, and half at most of a start's own limit that is shorter", () => {
    const { clock, asked } = limited(50_000);
    clock.advance(10_000);
    clock.advance(50_000);
    assert.deepEqual(asked, ["10000: reached 10000", "10000: clean 50000", "60000: stop"]);
    const short = limited(5000, 2000);
    short.clock.advance(1000);
    short.clock.advance(1000);
    assert.deepEqual(short.asked, ["1000: reached 1000", "1000: clean 1000", "2000: stop"]);
  });

  it("bounds a cleanup that has begun by itself before the run is stopped", () => {
    const { clock, limit, asked } = limited(5000);
    clock.advance(54_000);
    limit.cleaningUp();
    clock.advance(3000);
    limit.stop();
    clock.advance(3000);
    assert.deepEqual(asked, ["57000: clean 3000", "60000: stop"]);
  });

  it("ends a cleanup when it is stopped again", () => {
    const { clock, limit, asked } = limited(5000);
    limit.stop();
    clock.advance(1000);
    limit.stop();
    clock.advance(60_000);
    assert.deepEqual(asked, ["0: clean 5000", "1000: stop"]);
  });

  it("gives a cleanup no more time when it begins, once the run was stopped", () => {
    const { clock, limit, asked } = limited(5000);
    limit.stop();
    clock.advance(1000);
    limit.cleaningUp();
    clock.advance(60_000);
    assert.deepEqual(asked, ["0: clean 5000", "5000: stop"]);
  });

  it("gives a cleanup that has begun by itself the rest, and takes none away when the run is stopped then", () => {
    const { clock, limit, asked } = limited(5000);
    clock.advance(54_000);
    limit.cleaningUp();
    clock.advance(2000);
    assert.deepEqual(asked, []);
    clock.advance(4000);
    assert.deepEqual(asked, ["60000: reached", "60000: stop"]);
  });

  it("asks nothing of a run that is over", () => {
    const { clock, limit, asked } = limited(5000);
    limit[Symbol.dispose]();
    clock.advance(60_000);
    assert.deepEqual(asked, []);
  });
});
