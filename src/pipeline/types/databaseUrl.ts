import * as z from "zod/mini";
import { hasExpression, markedSource, splitText } from "../file/textPieces.ts";
import { quoted, suggestion } from "../mistakes/problem.ts";

const sqliteModes = ["ro", "rw", "rwc"] as const;
const postgresParameters = [
  "application_name",
  "channel_binding",
  "host",
  "options",
  "schema",
  "sslcert",
  "sslkey",
  "sslmode",
  "sslrootcert",
  "target_session_attrs",
] as const;
/** What is for pools and for sessions that last, in addresses of providers, Prisma and libpq. A step has one session and its `timeout`. */
const withoutEffect = new Set([
  "connect_timeout",
  "connection_limit",
  "gssencmode",
  "keepalives",
  "keepalives_count",
  "keepalives_idle",
  "keepalives_interval",
  "pgbouncer",
  "pool_timeout",
  "socket_timeout",
  "sslsni",
  "statement_cache_size",
  "tcp_user_timeout",
]);
/** What some of the parameters can be. */
const choices: Readonly<Partial<Record<(typeof postgresParameters)[number], readonly string[]>>> = {
  channel_binding: ["disable", "prefer", "require"],
  sslmode: ["disable", "allow", "prefer", "require", "verify-ca", "verify-full"],
  target_session_attrs: ["any", "read-write", "read-only", "primary", "standby"],
};

/** A parsed database address. Each part may contain `${{ env.NAME }}`, which the runner replaces. */
export const databaseSchema = z.discriminatedUnion("kind", [
  z.object({ kind: z.literal("sqlite-memory") }),
  z.object({
    kind: z.literal("sqlite-file"),
    /** Against the project's folder. */
    path: z.string(),
    /** SQLite's own names: read-only, read and write, and also create the file. */
    mode: z.enum(sqliteModes),
  }),
  z.object({
    kind: z.literal("postgres"),
    /** A name, an address, or the folder of a socket. */
    host: z.string(),
    port: z.string(),
    user: z.string(),
    password: z.string(),
    database: z.string(),
    parameters: z.partialRecord(z.enum(postgresParameters), z.string()),
  }),
  /** The whole address comes from the environment, so only the runner can parse it. */
  z.object({ kind: z.literal("environment"), url: z.string() }),
]);

export type DatabaseAddress = Readonly<z.infer<typeof databaseSchema>>;
export type PostgresAddress = Extract<DatabaseAddress, { kind: "postgres" }>;

type ReadUrl =
  | { readonly kind: "valid"; readonly database: DatabaseAddress }
  | { readonly kind: "invalid"; readonly problem: string };

const wellFormed = "a `url` is `sqlite:orders.db`, `sqlite::memory:` or `postgres://user@host:5432/database`";

/**
 * Parses a database's address. It is split before the environment's values are inserted, so that a password needs no
 * escapes and can't become part of a host name. Messages contain no part of the address that may be a secret.
 */
export function readDatabaseUrl(written: string): ReadUrl {
  // A file of variables that is read by a program which knows no quotes has them in its values.
  const url = /^(["'])(.*)\1$/s.exec(written.trim())?.[2] ?? written;
  if (url.startsWith("sqlite:")) return readSqliteUrl(url.slice("sqlite:".length));
  // SQLAlchemy names its driver too.
  if (/^postgres(?:ql)?(?:\+\w+)?:\/\//.test(url)) return readPostgresUrl(url);
  if (url.trimStart().startsWith("${{")) return valid({ kind: "environment", url: url.trim() });
  const scheme = /^[A-Za-z][A-Za-z0-9+.-]*(?=:)/.exec(url)?.[0];
  if (scheme === undefined) return invalid(`this is no address of a database: ${wellFormed}`);
  const near = suggestion(`${scheme}:`, ["sqlite:", "postgres:", "postgresql:"]);
  return invalid(`a database is reached by sqlite: or postgres://, not by \`${quoted(scheme)}:\`${near}`);
}

function readSqliteUrl(rest: string): ReadUrl {
  if (rest === ":memory:") return valid({ kind: "sqlite-memory" });
  if (rest.startsWith("//")) {
    return invalid("write the path right behind `sqlite:`, with no `//`, such as `sqlite:orders.db`");
  }
  const end = rest.indexOf("?");
  const path = end === -1 ? rest : rest.slice(0, end);
  if (path === "" || path.startsWith(":")) {
    return invalid("behind `sqlite:` stands the path of a file, or `:memory:`");
  }
  const query = end === -1 ? "" : rest.slice(end + 1);
  if (query === "") return valid({ kind: "sqlite-file", path, mode: "rw" });
  const [, written] = /^mode=(.*)$/.exec(query) ?? [];
  const mode = sqliteModes.find((known) => known === written);
  if (mode !== undefined) return valid({ kind: "sqlite-file", path, mode });
  return invalid(
    "behind a `?` can stand `mode=ro` (only read), `mode=rw` (the default) or `mode=rwc` (also make the file)",
  );
}

function readPostgresUrl(url: string): ReadUrl {
  const { text, restored } = withoutReferences(url);
  const parts = /^[a-z0-9+_]+:\/\/(?:([^/?#]*)@)?([^/?#]*)(?:\/([^?#]*))?(?:\?([^#]*))?$/.exec(text);
  const [, who = "", where = "", database = "", query = ""] = parts ?? [];
  if (parts === null || /@/.test(where + database + query)) {
    return invalid(
      "this address can't be read; in its user and password the characters @ : / ? # % are written %40 %3A %2F %3F %23 %25",
    );
  }
  const [, host, port] = /^(\[[^\]]*\]|[^:]*)(?::(.*))?$/.exec(where) ?? [];
  if (host === undefined || host.includes(",")) {
    return invalid("an address names one host, such as `db.example:5432`");
  }
  const parameters = readParameters(query, restored);
  if (parameters.kind === "invalid") return parameters;
  const colon = who.indexOf(":");
  try {
    const read = (part: string) => restored(decodeURIComponent(part));
    const { host: socket, ...others } = parameters.values;
    return valid({
      kind: "postgres",
      host: socket ?? (read(host.replace(/^\[(.*)\]$/, "$1")) || "localhost"),
      port: read(port ?? "") || "5432",
      user: read(colon === -1 ? who : who.slice(0, colon)),
      password: colon === -1 ? "" : read(who.slice(colon + 1)),
      database: read(database),
      parameters: others,
    });
  } catch {
    return invalid("a % in an address begins a character's code, such as %40; a % itself is %25");
  }
}

type Parameters =
  | { readonly kind: "valid"; readonly values: PostgresAddress["parameters"] }
  | { readonly kind: "invalid"; readonly problem: string };

function readParameters(query: string, restored: (text: string) => string): Parameters {
  const values: PostgresAddress["parameters"] = {};
  for (const [written, value] of new URLSearchParams(query)) {
    if (withoutEffect.has(written)) continue;
    const name = postgresParameters.find((known) => known === written);
    if (name === undefined) {
      const near = suggestion(written, postgresParameters);
      return invalid(
        `an address has no \`${quoted(written)}\`${near || `; it can have ${postgresParameters.join(", ")}`}`,
      );
    }
    const chosen = restored(value);
    const known = choices[name];
    if (known !== undefined && !hasExpression(chosen) && !known.includes(chosen)) {
      const near = suggestion(chosen, known);
      return invalid(`\`${name}\` is one of ${known.join(", ")}, not \`${quoted(chosen)}\`${near}`);
    }
    values[name] = chosen;
  }
  return { kind: "valid", values };
}

/** The text with a placeholder for each reference, and a function that restores the references in a part of it. */
function withoutReferences(url: string): { text: string; restored: (text: string) => string } {
  const split = splitText(url);
  // Invalid references are reported elsewhere, for every text of the file.
  if (split.kind === "invalid") return { text: url, restored: (text) => text };
  const sources: string[] = [];
  const texts = split.pieces.map((piece) => {
    if (piece.kind === "words") return piece.words;
    const source = piece.kind === "variable" ? ` env.${piece.name} ` : markedSource(piece);
    // Private-use characters, which no address contains.
    return `\uE000${sources.push(source) - 1}\uE001`;
  });
  return {
    text: texts.join(""),
    restored: (part) =>
      part.replace(/\uE000(\d+)\uE001/g, (standIn, index: string) => {
        const source = sources[Number(index)];
        return source === undefined ? standIn : `\${{${source}}}`;
      }),
  };
}

function valid(database: DatabaseAddress): ReadUrl {
  return { kind: "valid", database };
}

function invalid(problem: string): { readonly kind: "invalid"; readonly problem: string } {
  return { kind: "invalid", problem };
}
