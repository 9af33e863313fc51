import type { ChildProcess } from "node:child_process";
import { connect } from "node:net";
import { setTimeout as pause } from "node:timers/promises";
import { anySignal } from "../../machine/anySignal.ts";
import { problemOfPort, problemOfReadyAddress } from "../../pipeline/file/address.ts";
import { describeExpectation } from "../../pipeline/file/expectation.ts";
import type { Background } from "../../pipeline/types/cli.ts";
import { duration } from "../../text/time.ts";
import { endPrograms } from "../processes/endProcesses.ts";
import { loopback } from "../step/network.ts";
import type { CommandOutput, ExpectedOutput } from "./commandOutput.ts";

/** A step's program that was started. */
export interface Program {
  readonly child: ChildProcess;
  /** Settles when it has ended; rejects on Windows where there is none. */
  readonly exited: Promise<unknown>;
}

/** From SIGTERM to SIGKILL for a program whose step has failed while it runs. */
const graceMilliseconds = 1000;

export function isRunning({ exitCode, signalCode }: ChildProcess): boolean {
  return exitCode === null && signalCode === null;
}

export function howItEnded({ exitCode, signalCode }: ChildProcess): string {
  return signalCode === null ? `exited with ${exitCode}` : `was ended by ${signalCode}`;
}

/** Ends the program, with its group, unless it has ended. */
export async function endProgram({ child, exited }: Program): Promise<void> {
  if (child.pid === undefined || !isRunning(child)) return;
  const settled = new AbortController();
  void endPrograms([child.pid], graceMilliseconds, settled.signal);
  await exited;
  settled.abort();
}

/**
 * Waits until the program has ended, and ends it after `timeoutMilliseconds`.
 * @returns the problem if it had to be ended.
 */
export async function endAfterTimeout(
  program: Program,
  timeoutMilliseconds: number | undefined,
): Promise<string | undefined> {
  const over = program.exited.then(() => "over");
  if (timeoutMilliseconds === undefined) await over;
  else if ((await Promise.race([over, pause(timeoutMilliseconds, "late", { ref: false })])) === "late") {
    await endProgram(program);
    return `wasn't over within ${duration(timeoutMilliseconds)}, its \`timeout\``;
  }
  return undefined;
}

/** The pause between two checks, and how long a check of a port or an address may take, in milliseconds. */
const everyMilliseconds = 50;
const lookMilliseconds = 2000;

interface Sign {
  /** What to say when another program shows the sign already: `port 8080 is open`. */
  readonly ofAnother: string;
  /** Never rejects. @returns what is missing; undefined once it is there. */
  readonly look: (signal: AbortSignal) => Promise<string | undefined>;
}

/** Tells when a program in the background is ready. */
export class Readiness {
  readonly #background: Background;
  readonly #signs: readonly Sign[];
  readonly expected: readonly ExpectedOutput[];

  constructor(background: Background) {
    this.#background = background;
    const { port, http, output = [] } = background;
    this.expected = output.map((expectation) => ({ where: "output", expectation }));
    this.#signs = [
      ...(port === undefined ? [] : [openPort(port)]),
      ...(http === undefined ? [] : [answeringAddress(http)]),
    ];
  }

  /**
   * Why this program can't be waited for: a sign that can't be checked, or that another program shows already.
   * @param signal aborted when the step has to end.
   */
  async unfitReason(signal: AbortSignal): Promise<string | undefined> {
    const { port, http } = this.#background;
    const unfit = [
      port === undefined ? undefined : problemOfPort(port),
      http === undefined ? undefined : problemOfReadyAddress(http),
    ].find((problem) => problem !== undefined);
    if (unfit !== undefined) return `\`ready\`: ${unfit}`;
    for (const { ofAnother, look } of this.#signs) {
      if ((await look(signal)) === undefined)
        return `${ofAnother} already, before this program is started: end the program that is there, or give this one another port`;
    }
    return undefined;
  }

  /**
   * Waits until the program is ready.
   * @param deps `signal` is aborted when the step has to end.
   * @returns why it isn't ready; the program has ended then.
   * @throws PatternFault
   */
  async problem(
    program: Program,
    { output, signal }: { readonly output: CommandOutput; readonly signal: AbortSignal },
  ): Promise<string | undefined> {
    const { child, exited } = program;
    const { withinMilliseconds } = this.#background;
    const gone = new AbortController();
    const abort = () => gone.abort();
    exited.then(abort, abort);
    const over = anySignal([signal, gone.signal, AbortSignal.timeout(withinMilliseconds)]);
    const missing = await this.#missing(output, over);
    if (missing === undefined) return undefined;
    if (!isRunning(child)) {
      const daemon = child.exitCode === 0 ? `; ${ownBackground}` : "";
      return `${howItEnded(child)} before it was ready: ${missing}${daemon}`;
    }
    await endProgram(program);
    return `wasn't ready within ${duration(withinMilliseconds)}: ${missing}`;
  }

  /** @returns what is missing when the signal is aborted; undefined once all is there. */
  async #missing(output: CommandOutput, signal: AbortSignal): Promise<string | undefined> {
    for (let missing: string | undefined; ; ) {
      const now = await this.#look(output, signal);
      if (now === undefined) return undefined;
      // An aborted check says less than the one before.
      missing = signal.aborted ? (missing ?? now) : now;
      if (signal.aborted) return missing;
      await pause(everyMilliseconds, undefined, { signal }).catch(() => {});
    }
  }

  async #look(output: CommandOutput, signal: AbortSignal): Promise<string | undefined> {
    const unprinted = this.expected.find((expected) => !output.isAsExpectedSoFar(expected));
    if (unprinted !== undefined) return `it hasn't printed ${describeExpectation(unprinted.expectation)}`;
    for (const { look } of this.#signs) {
      const missing = await look(signal);
      if (missing !== undefined) return missing;
    }
    return undefined;
  }
}

const ownBackground = "one that goes into the background by itself, or by `&`, needs no `background`";

function openPort(port: string): Sign {
  return {
    ofAnother: `port ${port} is open`,
    look: (signal) =>
      Promise.any(loopback.map(({ address }) => connection(address, Number(port), signal))).then(
        () => undefined,
        () => `nothing takes connections on port ${port}`,
      ),
  };
}

/** Resolves once there was a connection, and rejects when there is none. */
function connection(host: string, port: number, signal: AbortSignal): Promise<void> {
  return new Promise((done, fail) => {
    const socket = connect({ host, port, signal });
    socket.setTimeout(lookMilliseconds, () => socket.destroy(new Error("No reply.")));
    socket.once("connect", () => {
      // If nothing listens at a port that the system may assign, TCP may connect a socket to itself.
      const isItself = socket.localPort === socket.remotePort;
      socket.destroy(isItself ? new Error("Connected to itself.") : undefined);
      if (!isItself) done();
    });
    socket.on("error", fail);
  });
}

function answeringAddress(address: string): Sign {
  return {
    ofAnother: `${address} answers`,
    look: async (signal) => {
      // Loaded only when an address is waited for, since it brings the HTTP library.
      const { lookAtAddress } = await import("./lookAtAddress.ts");
      return lookAtAddress(address, anySignal([signal, AbortSignal.timeout(lookMilliseconds)]));
    },
  };
}
