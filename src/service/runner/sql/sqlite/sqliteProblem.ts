import { describeError } from "../../../../contract/errors.ts";
import { formatDuration } from "../../../../pipeline/schema/duration.ts";

interface About {
  /** What the database is called in messages. */
  readonly name: string;
  readonly isReadOnly: boolean;
  readonly lockPatienceMilliseconds?: number;
}

/** One plain sentence on what SQLite could not do. Its result codes: sqlite.org/rescode.html. */
export function describeSqliteProblem(error: unknown, about: About): string {
  const message = error instanceof Error ? error.message : describeError(error);
  const { isReadOnly, lockPatienceMilliseconds: waited, name } = about;
  switch (primaryCode(error)) {
    case 5:
    case 6:
      return `another program holds a lock on ${name}${waited === undefined ? "" : `; it was waited for ${formatDuration(waited)}`}`;
    case 8:
      return isReadOnly
        ? `${name} is opened with \`mode=ro\`, so it can't be changed`
        : `${name} can't be changed: the file or its folder is read-only`;
    case 11:
      return `${name} is damaged (${message})`;
    case 13:
      return `there is no room left for ${name}: the disk is full`;
    case 14:
      return `${name} can't be opened: this user may not, or its folder is missing`;
    case 26:
      return `${name} is no SQLite database`;
    default:
      return message;
  }
}

/** The lowest byte; the others say more than a sentence needs. */
function primaryCode(error: unknown): number | undefined {
  return error instanceof Error && "errcode" in error && typeof error.errcode === "number"
    ? error.errcode & 0xff
    : undefined;
}
