import { hasExpression, markedSource, splitText } from "../file/textPieces.ts";
import { each, quoted, suggestion } from "../mistakes/problem.ts";

const sqliteModes = ["ro", "rw", "rwc"] as const;

/** The parameters of each kind of server in the query of its address, besides `host`. The kinds of TLS are PostgreSQL's. */
const tlsParameters = ["sslmode", "sslrootcert", "sslcert", "sslkey"] as const;
const postgresParameters = [
  ...tlsParameters,
  "application_name",
  "channel_binding",
  "options",
  "schema",
  "target_session_attrs",
] as const;
type Parameter = (typeof postgresParameters)[number];

/** Parts of an address that can be in its query, as libpq and JDBC have them. */
const parts = ["host", "port", "user", "password", "database"] as const;
type Part = (typeof parts)[number];

/** Other names of all these, in lower case and without `-` and `_`: MySQL's own, and those of libpq, Prisma and other libraries. */
const otherNames = new Map<string, Parameter | Part>(
  Object.entries({
    ...each("currentschema searchpath", "schema"),
    ...each("ssl sslaccept tls usessl", "sslmode"),
    ...each("socket unixsocket", "host"),
    dbname: "database",
    sslca: "sslrootcert",
  } as const),
);

/**
 * Parameters of providers, Prisma, libpq and JDBC without effect here, named likewise: they are for pools, for lasting sessions,
 * and for how a library shows values. A step has one session and its own `timeout`.
 */
const withoutEffect = new Set(
  `
allowpublickeyretrieval autoreconnect characterencoding charset clientencoding collation connectionlimit
connecttimeout datestrings decimalnumbers encoding fallbackapplicationname getserverpublickey gssencmode
interpolateparams keepalives keepalivescount keepalivesidle keepalivesinterval krbsrvname loc
multistatements parsetime pgbouncer pool pooltimeout preparethreshold readtimeout reconnect servertimezone
sockettimeout sslcompression sslsni statementcachesize statementtimeout supa supportbignumbers
tcpusertimeout timezone uselibpqcompat useunicode writetimeout
`
    .trim()
    .split(/\s+/),
);

/** From the weakest to the strictest. */
const tlsModes = ["disable", "allow", "prefer", "require", "verify-ca", "verify-full"];
/** MySQL's own words for parameters and kinds of TLS. */
const mysqlParameters = ["socket", "ssl-ca", "ssl-cert", "ssl-key", "ssl-mode"];
const mysqlModes = ["DISABLED", "PREFERRED", "REQUIRED", "VERIFY_CA", "VERIFY_IDENTITY"];
/** What some of the parameters can be. */
const choices: Readonly<Partial<Record<Parameter, readonly string[]>>> = {
  channel_binding: ["disable", "prefer", "require"],
  sslmode: tlsModes,
  target_session_attrs: ["any", "read-write", "read-only", "primary", "standby"],
};
/** The kinds of TLS in the words of MySQL, Prisma and other libraries. */
const otherModes = new Map(
  Object.entries({
    ...each("0 false disabled", "disable"),
    preferred: "prefer",
    ...each("accept_invalid_certs no-verify required skip-verify", "require"),
    '{"rejectunauthorized":false}': "require",
    verify_ca: "verify-ca",
    ...each("1 strict true verify_identity", "verify-full"),
    '{"rejectunauthorized":true}': "verify-full",
  }),
);

/** Each part of an address may contain `${{ env.NAME }}`, which the runner replaces. */
interface Server<Name extends string> {
  /** A name, an address, or the path of a socket; with PostgreSQL of its folder. */
  readonly host: string;
  readonly port: string;
  readonly user: string;
  readonly password: string;
  readonly database: string;
  readonly parameters: Readonly<Partial<Record<Name, string>>>;
}

export type PostgresAddress = { readonly kind: "postgres" } & Server<Parameter>;
export type MysqlAddress = { readonly kind: "mysql" } & Server<(typeof tlsParameters)[number]>;
export type ServerAddress = PostgresAddress | MysqlAddress;

export type DatabaseAddress =
  | { readonly kind: "sqlite-memory" }
  | {
      readonly kind: "sqlite-file";
      /** Against the project's folder. */
      readonly path: string;
      /** SQLite's own names: read-only, read and write, and also create the file. */
      readonly mode: (typeof sqliteModes)[number];
    }
  | ServerAddress
  /** The whole address comes from the environment, so only the runner can parse it. */
  | { readonly kind: "environment"; readonly url: string };

type ReadUrl =
  | { readonly kind: "valid"; readonly database: DatabaseAddress }
  | { readonly kind: "invalid"; readonly problem: string };

const wellFormed =
  "a `url` is `sqlite:orders.db`, `sqlite::memory:`, `postgres://user@host:5432/database` or `mysql://user@host:3306/database`";

/**
 * Parses a database's address. It is split before the environment's values are inserted, so that a password needs no
 * escapes and can't become part of a host name. Messages contain no part of the address that may be a secret.
 */
export function readDatabaseUrl(written: string): ReadUrl {
  // The quotes of an env file are in the value if the program that read the file doesn't know them.
  const whole = written.trim();
  const url = (/^(["'])(.*)\1$/s.exec(whole)?.[2] ?? whole).replace(/^jdbc:/, "");
  if (url.startsWith("sqlite:")) return readSqliteUrl(url.slice("sqlite:".length));
  const kind = kindOfServer(url);
  if (kind !== undefined) return readServerUrl(kind, url);
  if (url.startsWith("${{")) return valid({ kind: "environment", url });
  const scheme = /^[A-Za-z][A-Za-z0-9+.-]*(?=:)/.exec(url)?.[0];
  if (scheme === undefined) return invalid(`this is no address of a database: ${wellFormed}`);
  const near = suggestion(`${scheme}:`, ["sqlite:", "postgres:", "postgresql:", "mysql:", "mariadb:"]);
  return invalid(
    `a database is reached by sqlite:, postgres:// or mysql://, not by \`${quoted(scheme)}:\`${near}`,
  );
}

/** The kind of server in an address, by its scheme; undefined for any other. SQLAlchemy's scheme names its driver too. */
function kindOfServer(url: string): ServerAddress["kind"] | undefined {
  const [, name] = /^(postgres(?:ql)?|mysql2?|mariadb)(?:\+\w+)?:\/\//.exec(url) ?? [];
  if (name === undefined) return undefined;
  return name.startsWith("postgres") ? "postgres" : "mysql";
}

function readSqliteUrl(rest: string): ReadUrl {
  if (rest === ":memory:") return valid({ kind: "sqlite-memory" });
  if (rest.startsWith("//")) {
    return invalid("write the path right behind `sqlite:`, with no `//`, such as `sqlite:orders.db`");
  }
  const [path = "", query = ""] = rest.split(/\?(.*)/s, 2);
  if (path === "" || path.startsWith(":")) {
    return invalid("behind `sqlite:` stands the path of a file, or `:memory:`");
  }
  if (query === "") return valid({ kind: "sqlite-file", path, mode: "rw" });
  const [, written] = /^mode=(.*)$/.exec(query) ?? [];
  const mode = sqliteModes.find((known) => known === written);
  if (mode !== undefined) return valid({ kind: "sqlite-file", path, mode });
  return invalid(
    "behind a `?` can stand `mode=ro` (only read), `mode=rw` (the default) or `mode=rwc` (also make the file)",
  );
}

function readServerUrl(kind: ServerAddress["kind"], url: string): ReadUrl {
  const { text, restored } = withoutReferences(url);
  const split = /^[a-z0-9+_]+:\/\/(?:([^/?#]*)@)?([^/?#]*)(?:\/([^?#]*))?(?:\?([^#]*))?$/.exec(text);
  const [, who = "", where = "", database = "", query = ""] = split ?? [];
  if (split === null || /@/.test(where + database + query)) {
    return invalid(
      "this address can't be read; in its user and password the characters @ : / ? # % are written %40 %3A %2F %3F %23 %25",
    );
  }
  const [, host, port] = /^(\[[^\]]*\]|[^:]*)(?::(.*))?$/.exec(where) ?? [];
  if (host === undefined || where.includes(",")) {
    return invalid(oneHost);
  }
  const parameters = readParameters(kind, query, restored);
  if (parameters.kind === "invalid") return parameters;
  const colon = who.indexOf(":");
  try {
    const read = (part: string) => restored(decodeURIComponent(part));
    const { values, given } = parameters;
    const address = {
      host: read(host.replace(/^\[(.*)\]$/, "$1")) || "localhost",
      port: read(port ?? "") || (kind === "postgres" ? "5432" : "3306"),
      user: read(colon === -1 ? who : who.slice(0, colon)),
      password: colon === -1 ? "" : read(who.slice(colon + 1)),
      database: read(database),
      ...given,
    };
    return valid({ kind, ...address, parameters: values });
  } catch {
    return invalid("a % in an address begins a character's code, such as %40; a % itself is %25");
  }
}

const oneHost = "an address names one host, such as `db.example:5432`";

type Parameters =
  | {
      readonly kind: "valid";
      readonly values: Partial<Record<Parameter, string>>;
      readonly given: Partial<Record<Part, string>>;
    }
  | { readonly kind: "invalid"; readonly problem: string };

function readParameters(
  kind: ServerAddress["kind"],
  query: string,
  restored: (text: string) => string,
): Parameters {
  const names = kind === "postgres" ? postgresParameters : tlsParameters;
  const values: Partial<Record<Parameter, string>> = {};
  const given: Partial<Record<Part, string>> = {};
  for (const [written, value] of new URLSearchParams(query)) {
    const plain = written.toLowerCase().replace(/[-_]/g, "");
    if (withoutEffect.has(plain)) continue;
    const chosen = restored(value);
    const meant = otherNames.get(plain) ?? plain;
    const part = parts.find((known) => known === meant);
    if (part !== undefined) {
      if (part === "host" && chosen.includes(",")) return invalid(oneHost);
      given[part] = chosen;
      continue;
    }
    const name = names.find((known) => known.replaceAll("_", "") === meant);
    if (name === undefined) {
      const all = [...(kind === "postgres" ? names : mysqlParameters), ...parts].sort();
      const near = suggestion(written, all);
      return invalid(`an address has no \`${quoted(written)}\`${near || `; it can have ${all.join(", ")}`}`);
    }
    const known = choices[name];
    const mode = name === "sslmode" ? otherModes.get(chosen.toLowerCase().replace(/\s/g, "")) : undefined;
    const put = mode ?? chosen;
    if (known !== undefined && !hasExpression(put) && !known.includes(put)) {
      const words = kind === "mysql" ? mysqlModes : known;
      const near = suggestion(chosen, words);
      return invalid(`\`${written}\` is one of ${words.join(", ")}, not \`${quoted(chosen)}\`${near}`);
    }
    // Of two names of one thing, as in `sslmode=require&sslaccept=strict`, the stricter counts.
    const isStricter = tlsModes.indexOf(put) > tlsModes.indexOf(values[name] ?? "");
    if (name !== "sslmode" || isStricter || hasExpression(put)) values[name] = put;
  }
  return { kind: "valid", values, given };
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
