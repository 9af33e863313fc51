// The calls that VS Code makes on its native logger, written straight to the file. These logs are short and are wanted
// whole after a crash, so nothing is buffered and no file is rotated.
import { closeSync, mkdirSync, openSync, writeSync } from "node:fs";
import { dirname } from "node:path";

const levels = ["trace", "debug", "info", "warning", "error", "critical"];

export const version = 1;

export class Logger {
  #file;
  #threshold = levels.indexOf("info");
  #bare = false;

  constructor(_name, path) {
    mkdirSync(dirname(path), { recursive: true });
    this.#file = openSync(path, "a");
  }

  trace(message) {
    this.#write("trace", message);
  }

  debug(message) {
    this.#write("debug", message);
  }

  info(message) {
    this.#write("info", message);
  }

  warn(message) {
    this.#write("warning", message);
  }

  error(message) {
    this.#write("error", message);
  }

  critical(message) {
    this.#write("critical", message);
  }

  getLevel() {
    return this.#threshold;
  }

  setLevel(level) {
    this.#threshold = level;
  }

  /** VS Code asks for this where it formats its lines itself. */
  clearFormatters() {
    this.#bare = true;
  }

  setPattern() {}

  flush() {}

  drop() {
    if (this.#file === undefined) return;
    closeSync(this.#file);
    this.#file = undefined;
  }

  #write(level, message) {
    if (this.#file === undefined || levels.indexOf(level) < this.#threshold) return;
    writeSync(this.#file, this.#bare ? message : `${new Date().toISOString()} [${level}] ${message}\n`);
  }
}

export async function createRotatingLogger(name, path) {
  return new Logger(name, path);
}

export const createAsyncRotatingLogger = createRotatingLogger;

export function setLevel() {}

export function setFlushOn() {}

export function shutdown() {}
