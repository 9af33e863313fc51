import { postgresFolder } from "../postgres/installPostgres.ts";
import { databasesForSuite, type LentDatabase } from "../postgres/lentDatabases.ts";

/** Where a test's service keeps what it has. */
export type Store =
  | { readonly kind: "SQLite" }
  | { readonly kind: "PostgreSQL"; readonly lend: () => Promise<LentDatabase> };

/** One text for the service on either database; on PostgreSQL where there is one for the tests. */
export function onBoth(title: string, suite: (this: Mocha.Suite, store: Store) => void): void {
  describe(`${title}, on SQLite`, function () {
    suite.call(this, { kind: "SQLite" });
  });
  const native = postgresFolder();
  if (native === undefined) return;
  describe(`${title}, on PostgreSQL`, function () {
    suite.call(this, { kind: "PostgreSQL", lend: databasesForSuite(native) });
  });
}
