import { type FileHandle, open, stat } from "node:fs/promises";
import { join } from "node:path";

const largestBytes = 1024 * 1024;

/** Where the embedded service's own output goes. */
export function serviceLogFile(folder: string): string {
  return join(folder, "service.log");
}

/** Opens the log for one more service, readable by its owner only; begins it anew when it has passed 1 MiB. */
export async function openServiceLog(folder: string): Promise<FileHandle> {
  const path = serviceLogFile(folder);
  const size = await sizeOf(path);
  const log = await open(path, size > largestBytes ? "w" : "a", 0o600);
  await log.chmod(0o600);
  return log;
}

/** The last lines that were written after `start` (bytes from the log's beginning), at most `lines` of them. */
export async function lastLines(folder: string, start: number, lines: number): Promise<string[]> {
  await using log = await open(serviceLogFile(folder), "r");
  const { size } = await log.stat();
  const begin = start <= size ? start : 0;
  const length = Math.min(size - begin, 16 * 1024);
  const { buffer, bytesRead } = await log.read(Buffer.alloc(length), 0, length, size - length);
  const text = buffer.subarray(0, bytesRead).toString("utf8");
  return text
    .split(/\r?\n/)
    .filter((line) => line.trim() !== "")
    .slice(-lines);
}

async function sizeOf(path: string): Promise<number> {
  try {
    return (await stat(path)).size;
  } catch {
    return 0;
  }
}
