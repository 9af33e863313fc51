/**
 * Every error of the product: its HTTP status if it has one, the tool's exit code, and what to do next (contract: "Refusals
 * and errors over HTTP" and "The command-line tool").
 */
export const errorTypes = {
  unauthorized: { httpStatus: 401, exitCode: 3, next: "Set a key that this service accepts." },
  forbidden: {
    httpStatus: 403,
    exitCode: 3,
    next: "Ask an owner of the org for a key of a role that may do this.",
  },
  "not-found": { httpStatus: 404, exitCode: 2, next: "Check the name or the id." },
  conflict: { httpStatus: 409, exitCode: 2, next: "Look at what is there, then ask again." },
  "payload-too-large": { httpStatus: 413, exitCode: 2, next: "Send less." },
  "invalid-request": { httpStatus: 400, exitCode: 2, next: "Correct what the message names." },
  "too-many-runs": { httpStatus: 429, exitCode: 5, next: "Cancel a run, or try again later." },
  internal: { httpStatus: 500, exitCode: 4, next: "Try again; if it stays, look at the service's log." },
  "out-of-reach": {
    httpStatus: undefined,
    exitCode: 4,
    next: "Check the base URL and that the service is running.",
  },
  "breaks-contract": {
    httpStatus: undefined,
    exitCode: 4,
    next: "Check that the base URL is the service's.",
  },
  /** The service lacks an endpoint that the contract marks as ours. */
  "not-supported": {
    httpStatus: undefined,
    exitCode: 4,
    next: "This service can't do that over HTTP; its own command-line tool may.",
  },
  usage: { httpStatus: undefined, exitCode: 2, next: "See `pipeline --help`." },
} as const satisfies Record<string, ErrorFacts>;

interface ErrorFacts {
  readonly httpStatus: number | undefined;
  readonly exitCode: number;
  readonly next: string;
}

export type ErrorType = keyof typeof errorTypes;

/** The product's one error class. `type` decides HTTP status and exit code; `message` and `next` are for people. */
export class PipelineError extends Error {
  override readonly name = "PipelineError";
  readonly type: ErrorType;
  /** What to do next, as a sentence. */
  readonly next: string;

  constructor(
    type: ErrorType,
    message: string,
    options: { readonly cause?: unknown; readonly next?: string } = {},
  ) {
    super(message, options.cause === undefined ? undefined : { cause: options.cause });
    this.type = type;
    this.next = options.next ?? errorTypes[type].next;
  }
}

export function isErrorType(text: string): text is ErrorType {
  return Object.hasOwn(errorTypes, text);
}

/** The message of anything thrown, with its next step if it has one. Never a stack. */
export function describeError(error: unknown): string {
  if (error instanceof PipelineError) return withNext(error.message, error.next);
  return error instanceof Error ? error.message : String(error);
}

/** A message and its next step in one text; the step goes on its own line if the message has several. */
export function withNext(message: string, next: string): string {
  return `${message}${message.includes("\n") ? "\n" : " "}${next}`.trim();
}

/** The tool's exit codes that belong to no error type (contract: "The command-line tool"). */
export const exitCodes = {
  done: 0,
  runDidNotSucceed: 1,
  problemsFound: 1,
  wrongUsage: 2,
  refusedByLimit: 5,
  interrupted: 130,
} as const;
