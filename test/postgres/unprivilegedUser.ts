import { readFileSync } from "node:fs";

export interface User {
  readonly uid: number;
  readonly gid: number;
}

/** As whom PostgreSQL's programs run when this process is root; undefined when it isn't. */
export function unprivilegedUser(): User | undefined {
  if (process.getuid?.() !== 0) return undefined;
  const users = readFileSync("/etc/passwd", "utf8")
    .split("\n")
    .map((line) => line.split(":"));
  for (const name of ["postgres", "nobody"]) {
    const [, , uid, gid] = users.find(([known]) => known === name) ?? [];
    if (uid !== undefined && gid !== undefined) return { uid: Number(uid) >>> 0, gid: Number(gid) >>> 0 };
  }
  throw new Error("there is no user postgres or nobody as whom PostgreSQL could run");
}
