import type { ContentfulStatusCode } from "hono/utils/http-status";
import { type ErrorType, PipelineError } from "../../contract/errors.ts";

/** A fault of the HTTP itself, whose status says more than the one of its type in the contract would. */
export class HttpProblem extends PipelineError {
  readonly status: ContentfulStatusCode;
  readonly headers: Readonly<Record<string, string>>;

  constructor(
    status: ContentfulStatusCode,
    type: ErrorType,
    told: {
      readonly message: string;
      readonly next: string;
      readonly headers?: Readonly<Record<string, string>>;
    },
  ) {
    super(type, told.message, { next: told.next });
    this.status = status;
    this.headers = told.headers ?? {};
  }
}
