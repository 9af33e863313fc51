/** The code of an error of the system or of Node.js, such as `ENOENT`. */
export function codeOf(error: unknown): string | undefined {
  return error instanceof Error && "code" in error && typeof error.code === "string" ? error.code : undefined;
}

/** Whether the system says that there is no such file or folder. */
export function isMissing(error: unknown): boolean {
  const code = codeOf(error);
  return code === "ENOENT" || code === "ENOTDIR";
}

/** What the file system answers; undefined where there is no such file in its folder. @throws any other error. */
export async function ifThere<T>(asked: Promise<T>): Promise<T | undefined> {
  return asked.catch((error: unknown) => {
    if (codeOf(error) === "ENOENT") return undefined;
    throw error;
  });
}

/** What the machine lacks, and what to do about it. */
interface Shortage {
  /** A clause. */
  readonly why: string;
  /** A sentence. */
  readonly next: string;
}

const fullDisk: Shortage = {
  why: "the disk is full, or takes no more files",
  next: withCommand("Free some space on it", "`df -h` shows its bytes, `df -i` its files"),
};
const shortages: Readonly<Record<string, Shortage>> = {
  ENOSPC: fullDisk,
  EDQUOT: { why: "your part of the disk is used up", next: "Remove some of your files there." },
  EROFS: { why: "the file system is read-only", next: "Let it be written to." },
  EMFILE: {
    why: "too many files are open in one program",
    next: withCommand("Raise that limit", "`ulimit -n` shows it"),
  },
  ENFILE: { why: "too many files are open on this machine", next: "End programs that have many open." },
  EAGAIN: {
    why: "this user may start no more processes",
    next: withCommand("End some of them, or raise that limit", "`ulimit -u` shows it"),
  },
  ENOMEM: { why: "there is no memory left", next: "End other programs." },
};

/** What the machine lacks, if that is the error's cause; undefined for any other error. */
export function shortageOf(error: unknown): Shortage | undefined {
  return shortages[codeOf(error) ?? ""];
}

/** Windows has none of these commands. */
function withCommand(advice: string, command: string): string {
  return process.platform === "win32" ? `${advice}.` : `${advice}: ${command}.`;
}
