import { rm } from "node:fs/promises";
import { join } from "node:path";
import { PipelineError } from "../../../src/contract/errors.ts";
import { TemporaryFolder } from "../../temporaryFolder.ts";
import type { Round } from "../round.ts";
import type { StorageAct } from "./acts.ts";
import { damages } from "./damages.ts";
import { type Reference, referenceOf } from "./reference.ts";
import type { StorageChaos } from "./storageChaos.ts";
import type { World } from "./world.ts";

type DamageAct = Extract<StorageAct, { act: "damage" }>;

/**
 * Kills the service, damages what it has left, and starts it again: it has to hold every promise that the damage has not
 * taken, or to refuse and say what to do. What SQLite itself finds in the files says which.
 */
export async function damageAct(
  { damage: name, place }: DamageAct,
  world: World,
  chaos: StorageChaos,
  round: Round,
): Promise<void> {
  const damage = damages.find((one) => one.name === name);
  if (damage === undefined) throw new Error(`there is no damage ${name}`);
  await world.disk.free(world.served.pid);
  await world.openFolder();
  await world.killAndLetGo();
  round.count("kills");
  await chaos.settle();
  const look = async (): Promise<Reference> => {
    await using copy = await TemporaryFolder.make();
    // Waited for here: the copy goes with this block.
    return await referenceOf(world.data, join(copy.path, "database"));
  };
  const truth = await look();
  if (truth.kind === "unsound") throw new Error(`kill -9 alone has damaged the database: ${truth.why}`);
  await damage.make(world.data, place / 1000);
  await world.ownFiles();
  const left = await look();
  round.trace("damaged", {
    left: left.kind === "sound" ? left.runs.length : left.why,
    of: truth.runs.length,
  });
  // A folder in a file's place belongs to someone; the service may leave it alone.
  const isFolder = name.endsWith(": folder");
  const mayRefuse = isFolder || (damage.takes && left.kind === "unsound");
  let isRestored = false;
  await chaos.startAgain(mayRefuse, async () => {
    if (isFolder) await rm(join(world.data, name.replace(": folder", "")), { recursive: true });
    else {
      await world.restore();
      isRestored = true;
    }
  });
  // Without a key, nothing can be asked.
  const hasLostKeys = left.kind === "sound" && left.keys < truth.keys;
  round.check(damage.takes || !hasLostKeys, "a damage that takes nothing has taken a key", left);
  if ((left.kind === "unsound" || hasLostKeys) && !isRestored) {
    if (left.kind === "unsound") await checkAnswers(truth, world, chaos, round);
    await world.served.kill();
    await world.restore();
    await world.served.start();
    isRestored = true;
  }
  await world.served.takeUp();
  const rows = await world.served.rows();
  const ids = new Set(rows.map(({ id }) => id));
  if (!isRestored && left.kind === "sound") {
    round.check(
      left.runs.every(({ id }) => ids.has(id)),
      "a run that SQLite finds is not served",
      [...ids],
    );
  }
  if (!damage.takes) {
    round.check(
      truth.runs.every(({ id }) => ids.has(id)),
      "a damage that takes nothing has taken a run",
      [...ids],
    );
  } else chaos.promises.begin(rows);
  const active = rows.filter(({ stopped_at }) => stopped_at === null);
  round.checkSame(active, [], "a run is active that no runner works on");
  await chaos.check();
}

/** A service that has started with a damaged database answers what is right, or that it is damaged; nothing else. */
async function checkAnswers(
  truth: Extract<Reference, { kind: "sound" }>,
  world: World,
  chaos: StorageChaos,
  round: Round,
): Promise<void> {
  const day = new Date(world.now()).toISOString().slice(0, 10);
  for (const { member } of chaos.orgs) {
    const own = truth.runs.filter(({ orgId }) => orgId === member.orgId);
    const answer = async <T>(what: string, ask: () => Promise<T>): Promise<T | undefined> => {
      try {
        return await ask();
      } catch (error) {
        const isTold = error instanceof PipelineError && /is damaged/.test(error.message);
        // The key itself may be damaged.
        const isUnknown = error instanceof PipelineError && error.type === "unauthorized";
        round.check(
          isTold || isUnknown,
          `${what} of a damaged database failed with a strange error`,
          String(error),
        );
        return undefined;
      }
    };
    const org = await answer("the count", () => member.client().org(round.signal));
    if (org !== undefined) {
      const count = own.filter((run) => run.day === day).length;
      round.checkSame(org.usage.runsToday, count, "a damaged database is served with a wrong count");
    }
    const list = await answer("the list", () => member.client().runs({ limit: 100 }, round.signal));
    if (list !== undefined) {
      const listed = new Set(list.runs.map(({ runId }) => runId));
      const known = new Set(own.map(({ id }) => id));
      const isWhole = listed.size === Math.min(100, known.size) && [...listed].every((id) => known.has(id));
      round.check(isWhole, "a damaged database is served with runs missing", {
        listed: listed.size,
        known: known.size,
      });
    }
  }
}
