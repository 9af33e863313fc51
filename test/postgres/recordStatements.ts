import pg from "pg";
import * as z from "zod/mini";

const configSchema = z.object({ text: z.string() });

/** Whatever any connection of this process sends from now on, each text once. */
export function recordStatements(): Disposable & { readonly statements: ReadonlySet<string> } {
  const statements = new Set<string>();
  const { query } = pg.Client.prototype;
  pg.Client.prototype.query = function (this: pg.Client, ...given: Parameters<typeof query>) {
    const [what]: readonly unknown[] = given;
    const text = typeof what === "string" ? what : configSchema.parse(what).text;
    statements.add(text.replaceAll(/\s+/g, " ").trim());
    return Reflect.apply(query, this, given);
  } as typeof query;
  return {
    statements,
    [Symbol.dispose]() {
      pg.Client.prototype.query = query;
    },
  };
}
