import type { Round } from "../round.ts";
import type { World } from "./world.ts";

type Row = Awaited<ReturnType<World["served"]["rows"]>>[number];

/** A start that was asked for over HTTP, perhaps more than once. */
export interface Asked {
  readonly org: number;
  readonly pipeline: string;
  readonly idempotencyKey: string;
  /** On a clock that only goes forward, in milliseconds. */
  readonly askedAt: number;
  /** The ids of runs that replies have named. */
  readonly promised: Set<string>;
}

/** What replies have said, and what must hold because of it. */
export class Promises {
  readonly #round: Round;
  readonly #asked: Asked[] = [];
  /** What readers were given of a run's log, from its beginning. */
  readonly #logs = new Map<string, readonly string[]>();
  readonly #revoked = new Set<string>();
  readonly #cancelled = new Set<string>();
  readonly #seenEnded = new Map<string, string>();

  constructor(round: Round) {
    this.#round = round;
  }

  get asked(): readonly Asked[] {
    return this.#asked;
  }

  get revoked(): ReadonlySet<string> {
    return this.#revoked;
  }

  ask(asked: Asked): Asked {
    this.#asked.push(asked);
    return asked;
  }

  revoke(secret: string): void {
    this.#revoked.add(secret);
  }

  /** A reader has got these lines of a log: a reader before it has got the same, or fewer. */
  read(runId: string, lines: readonly string[]): void {
    const before = this.#logs.get(runId) ?? [];
    this.#round.checkSame(
      lines.slice(0, before.length),
      before,
      "a reader was given other lines of a log than one before",
    );
    const numbers = lines.map((line) => Number(/"sequence":(\d+)/.exec(line)?.[1]));
    this.#round.checkSame(
      numbers,
      numbers.map((_, index) => index + 1),
      "a log's lines are not numbered one after another",
    );
    this.#logs.set(runId, lines);
  }

  /** The part of a log that a reader received. */
  get readLogs(): ReadonlySet<string> {
    return new Set(this.#logs.keys());
  }

  /** To be called after damage: what is left counts from here on. */
  begin(rows: readonly Row[]): void {
    const there = new Set(rows.map(({ id }) => id));
    for (const { promised } of this.#asked)
      for (const id of promised) if (!there.has(id)) promised.delete(id);
    this.#logs.clear();
    this.#revoked.clear();
    this.#cancelled.clear();
    this.#seenEnded.clear();
  }

  /** What holds at every moment of an undamaged database. */
  check(rows: readonly Row[]): void {
    const round = this.#round;
    const ids = new Set(rows.map(({ id }) => id));
    for (const { idempotencyKey, promised } of this.#asked) {
      const own = rows.filter((row) => row.idempotency_key === idempotencyKey);
      round.check(own.length <= 1 && promised.size <= 1, "one start request has made two runs", {
        idempotencyKey,
      });
      round.check(
        [...promised].every((id) => ids.has(id)),
        "a run that was promised is not there",
        [...promised],
      );
    }
    for (const row of rows) {
      if (row.stopped_at === null) continue;
      const before = this.#seenEnded.get(row.id);
      round.check(before === undefined || before === row.status, "a run that had ended has another end", {
        id: row.id,
        before,
        after: row.status,
      });
      this.#seenEnded.set(row.id, row.status);
      if (before === undefined) this.#checkEnd(row);
    }
  }

  #checkEnd(row: Row): void {
    const round = this.#round;
    round.check(Number(row.stopped_at) >= row.created_at, "a run has stopped before it began", row);
    switch (row.status) {
      case "timed-out": {
        const asked = this.#asked.find(({ promised }) => promised.has(row.id));
        round.check(
          row.pipeline === "short",
          "a run was ended for a time limit that it has not reached",
          row,
        );
        const passed = asked === undefined ? undefined : performance.now() - asked.askedAt;
        round.check(passed === undefined || passed >= 2_000, "a run's time limit came early", {
          passed,
          row,
        });
        break;
      }
      case "lost":
        round.check(
          row.reason === "the service died while it ran",
          "a run was lost while its service lived",
          row,
        );
        break;
      case "failed":
        round.check(false, "a run has failed for nothing", row);
    }
  }
}
