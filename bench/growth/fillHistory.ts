import type { DatabaseSync } from "node:sqlite";
import { utcDay } from "../../src/contract/limits.ts";
import { idMaker } from "../../src/service/store/ids.ts";
import type { Filling } from "./calls.ts";

const dayMilliseconds = 86_400_000;
const yearMilliseconds = 365 * dayMilliseconds;
/** The digits of an id's end, in the order in which they sort. */
const digits = "0123456789abcdefghjkmnpqrstvwxyz";
/** Of how many runs one is of each rare kind, which lists are narrowed to; and how many are made at once. */
const rare = 1_000;

export interface Keys {
  readonly org: string;
  readonly key: string;
  readonly keyOfFew: string;
}

/**
 * Puts orgs and ended runs into an empty database, in one transaction that needs no sync. The indexes are made after the
 * rows, as they were: sorted at once, they take a fraction of the time.
 * @returns a run in the middle of the first org's history.
 */
export function fillHistory(
  db: DatabaseSync,
  { orgs, runsOfFirst, runsOfOthers }: Filling,
  first: Keys,
): string {
  const indexes = db
    .prepare("select name, sql from sqlite_master where type = 'index' and sql is not null")
    .all();
  db.exec("pragma synchronous = off; pragma cache_size = -400000; begin");
  for (const { name } of indexes) db.exec(`drop index ${String(name)}`);
  const org = db.prepare(
    "insert into orgs (id, name, tier, parallel_runs, runs_per_day, created_at) values (?, ?, 'free', 1, 50, 0)",
  );
  const key = db.prepare(
    "insert into keys (id, org_id, role, hash, is_machine, created_at) values (?, ?, 'member', ?, 0, 0)",
  );
  // A thousand rows a statement: what is the same in them is bound once.
  db.exec(`create temp table numbers as
    with recursive counted(n) as (select 0 union all select n + 1 from counted where n < ${rare - 1}) select n from counted`);
  const runs = db.prepare(
    `insert into runs (id, org_id, project, pipeline, actor, runner, status, day, created_at, stopped_at, time_limit_seconds,
       files_removed_at, changed)
     select ?1 || substr(?2, n / 32 + 1, 1) || substr(?2, n % 32 + 1, 1), ?3, iif(n = ?11, 'seldom', 'project'),
       iif(n = ?11, 'seldom', 'hello'), iif(n = ?11, ?5, ?4), 'bench', iif(n = ?11, 'lost', 'succeeded'), ?6, ?7, ?7 + 1000, 30,
       iif(?8 and (?11 < 0 or n % 100 > 0), ?7 + 1000, null), ?9 + n
     from numbers where n < ?10`,
  );
  const now = Date.now();
  const begin = now - 3 * yearMilliseconds;
  const twoWeeksAgo = now - 14 * dayMilliseconds;
  // The last ones are of today, so that the day's count is of some.
  const ofToday = Math.min(40, runsOfFirst / 2);
  let middle = "";
  let at = begin;
  const makeId = idMaker(() => at);
  for (let done = 0; done < runsOfFirst; ) {
    const isToday = done >= runsOfFirst - ofToday;
    const count = Math.min(rare, (isToday ? runsOfFirst : runsOfFirst - ofToday) - done);
    at = isToday
      ? now - 60_000
      : begin + Math.floor((done / runsOfFirst) * (twoWeeksAgo - begin + 12 * dayMilliseconds));
    const prefix = makeId("run").slice(0, -2);
    const beforeMiddle = Math.floor(runsOfFirst / 2) - done;
    if (middle === "" && beforeMiddle < count) middle = `${prefix}${placeOf(beforeMiddle)}`;
    const isOld = at < twoWeeksAgo ? 1 : 0;
    runs.run(
      prefix,
      digits,
      first.org,
      first.key,
      first.keyOfFew,
      utcDay(at),
      at,
      isOld,
      done + 1,
      count,
      count >> 1,
    );
    done += count;
  }
  // Those go on from an earlier time, which a maker of ids that has made later ones would not.
  const makeOthersId = idMaker(() => at);
  for (let other = 1; other < orgs; other += 1) {
    at = begin + Math.floor((other / orgs) * 2 * yearMilliseconds);
    const orgId = makeOthersId("org");
    const keyId = makeOthersId("key");
    org.run(orgId, `org ${other}`);
    key.run(keyId, orgId, "0".repeat(64));
    const prefix = makeOthersId("run").slice(0, -2);
    runs.run(prefix, digits, orgId, keyId, keyId, utcDay(at), at, 1, 1, runsOfOthers, -1);
  }
  for (const { sql } of indexes) db.exec(String(sql));
  db.prepare("update orgs set sequence = ? where id = ?").run(runsOfFirst, first.org);
  db.exec("commit; pragma synchronous = full; pragma wal_checkpoint(truncate)");
  return middle;
}

/** The end of an id, as the statement makes it from a run's index among the thousand. */
function placeOf(n: number): string {
  return `${digits[Math.floor(n / 32)]}${digits[n % 32]}`;
}
