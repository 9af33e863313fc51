// biome-ignore-all lint/suspicious/noTemplateCurlyInString: the references that pipeline files are written with.

import { writeFile } from "node:fs/promises";
import { join } from "node:path";
import { Program } from "../../scripts/process/program.ts";
import { freePort } from "../postgres/startedPostgres.ts";
import { TemporaryFolder } from "../temporaryFolder.ts";
import type { MysqlPrograms } from "./mysqlPrograms.ts";

interface MysqlOptions {
  /** A certificate and its key as PEM, for TLS. */
  readonly tls?: { readonly cert: string; readonly key: string };
}

const password = "p@ss/w:rd? #1";

/**
 * A MySQL or MariaDB server on the loopback interface, with a database `shop` and a user `app` that has a password. It is
 * installed where it isn't yet.
 */
export async function startedMysql(
  { make, name }: MysqlPrograms,
  signal: AbortSignal,
  { tls }: MysqlOptions = {},
) {
  await using cleanUp = new AsyncDisposableStack();
  const { path } = cleanUp.use(await TemporaryFolder.make("pipeline-runs-mysql"));
  const { command, env, words } = await make(path, signal);
  const port = await freePort();
  const socket = join(path, "mysql.sock");
  const start = join(path, "start.sql");
  await writeFile(start, users);
  for (const [part, text] of Object.entries(tls ?? {})) await writeFile(join(path, `${part}.pem`), text);
  const settings = [
    `--datadir=${join(path, "data")}`,
    `--init-file=${start}`,
    `--pid-file=${join(path, "pid")}`,
    `--port=${port}`,
    `--socket=${socket}`,
    `--tmpdir=${path}`,
    "--bind-address=127.0.0.1",
    "--skip-name-resolve",
    // The folder is thrown away after the tests, so nothing has to reach the disk.
    "--innodb-flush-log-at-trx-commit=0",
    "--sql-mode=STRICT_ALL_TABLES,ONLY_FULL_GROUP_BY",
    ...(tls ? [`--ssl-cert=${join(path, "cert.pem")}`, `--ssl-key=${join(path, "key.pem")}`] : []),
  ];
  const program = cleanUp.use(
    new Program(command, [...words, ...settings], { cwd: path, ...(env && { env }) }),
  );
  if ((await program.outputMatching(/ready for connections/, signal)) === undefined) {
    throw new Error(`${name} didn't start:\n${program.output}`);
  }
  const all = cleanUp.move();
  return {
    port,
    password,
    /** The path of its socket. */
    socket,
    /** Its address as a pipeline file writes it; the password is the variable PASSWORD's. */
    url({ user = "app:${{ env.PASSWORD }}", query = "", database = "shop" } = {}): string {
      return `mysql://${user}@127.0.0.1:${port}/${database}${query}`;
    },
    [Symbol.asyncDispose]: () => all.disposeAsync(),
  };
}

/** A user of a server's own without a name would come before one that may connect from anywhere. */
const users = `create database shop character set utf8mb4;
${["%", "localhost", "127.0.0.1"]
  .map(
    (host) => `grant all privileges on *.* to 'app'@'${host}' identified by '${password}' with grant option;`,
  )
  .join("\n")}
`;
