import {
  type Compilable,
  CompiledQuery,
  DummyDriver,
  Kysely,
  type RawBuilder,
  SqliteAdapter,
  SqliteIntrospector,
  SqliteQueryCompiler,
  sql,
} from "kysely";
import type { Database, Tables } from "./tables.ts";

type Value = string | number | null;

/** A query that is written and compiled once and run often: a request is not to wait while its SQL is put together anew. */
export interface Statement<Values, Row> {
  readonly text: string;
  /** What stands for the question marks of the text. */
  readonly parameters: (values: Values) => Value[];
  readonly run: (db: Database, values: Values) => Promise<Row[]>;
}

/**
 * Compiles a query.
 * @example statement<{ id: string }>()((db, value) => db.selectFrom("orgs").selectAll().where("id", "=", value("id")))
 */
export function statement<Values extends Readonly<Record<string, Value>>>() {
  return <Row>(
    build: (
      db: Database,
      value: <Name extends keyof Values & string>(name: Name) => RawBuilder<Values[Name]>,
    ) => Compilable<Row>,
  ): Statement<Values, Row> => {
    const { sql: text, parameters: written } = build(compiling, (name) => sql`${new Slot(name)}`).compile();
    const parameters = (values: Values) =>
      written.map((one) => (one instanceof Slot ? one.of(values) : asValue(one)));
    return {
      text,
      parameters,
      run: async (db, values) =>
        (await db.executeQuery<Row>(CompiledQuery.raw(text, parameters(values)))).rows,
    };
  };
}

/** Where a value will stand. */
class Slot {
  readonly #name: string;

  constructor(name: string) {
    this.#name = name;
  }

  of(values: Readonly<Record<string, Value>>): Value {
    const value = values[this.#name];
    if (value === undefined) throw new TypeError(`the statement needs \`${this.#name}\``);
    return value;
  }
}

function asValue(written: unknown): Value {
  if (written === null || typeof written === "string" || typeof written === "number") return written;
  throw new TypeError(`a ${typeof written} can't stand in a statement`);
}

/** Only ever compiles. */
const compiling = new Kysely<Tables>({
  dialect: {
    createAdapter: () => new SqliteAdapter(),
    createDriver: () => new DummyDriver(),
    createIntrospector: (db) => new SqliteIntrospector(db),
    createQueryCompiler: () => new SqliteQueryCompiler(),
  },
});
