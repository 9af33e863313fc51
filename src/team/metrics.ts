import { collectDefaultMetrics, Gauge, Histogram, Registry } from "prom-client";
import type { SharedCore } from "./sharedCore.ts";

/** The buckets of the histograms, in seconds. */
const buckets = [0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5];

export class ServerMetrics {
  readonly #registry = new Registry();
  readonly #durations = {
    admission: this.#histogram(
      "pipeline_runs_admission_seconds",
      "How long a decision on an org's slots took",
    ),
    handOver: this.#histogram(
      "pipeline_runs_hand_over_seconds",
      "From the grant of a slot on another server until the waiter's server had it",
    ),
  };

  begin({ db, pool, admission }: Pick<SharedCore, "db" | "pool" | "admission">): void {
    collectDefaultMetrics({ register: this.#registry });
    this.#gauge("pipeline_runs_waiters", "Start requests that this server holds", () => admission.waiting);
    this.#gauge("pipeline_runs_active", "Active runs, of every server", async () => {
      const { count } = await db
        .selectFrom("runs")
        .select(({ fn }) => fn.countAll<number>().as("count"))
        .where("stopped_at", "is", null)
        .executeTakeFirstOrThrow();
      return count;
    });
    this.#gauge("pipeline_runs_pool_connections", "Connections to the database", () => pool.totalCount);
    this.#gauge("pipeline_runs_pool_idle", "Idle ones among them", () => pool.idleCount);
    this.#gauge("pipeline_runs_pool_waiting", "Requests that wait for a connection", () => pool.waitingCount);
  }

  /** Measures how far the moves to the object store are behind, from now on. */
  watchMoves(secondsUnmoved: () => Promise<number>): void {
    this.#gauge(
      "pipeline_runs_unmoved_seconds",
      "How long ago the run ended whose files are the next to be moved to the object store",
      secondsUnmoved,
    );
  }

  observe(what: "admission" | "handOver", milliseconds: number): void {
    this.#durations[what].observe(milliseconds / 1000);
  }

  /** All metrics in Prometheus's text format. */
  text(): Promise<string> {
    return this.#registry.metrics();
  }

  #histogram(name: string, help: string): Histogram {
    return new Histogram({ name, help, buckets, registers: [this.#registry] });
  }

  #gauge(name: string, help: string, read: () => number | Promise<number>): void {
    new Gauge({
      name,
      help,
      registers: [this.#registry],
      async collect() {
        // While the database is away, the other metrics are still read.
        this.set(await Promise.resolve(read()).catch(() => Number.NaN));
      },
    });
  }
}
