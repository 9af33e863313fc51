import type { FieldTexts } from "./fieldText.ts";
import { everyStepTexts, expectedText, timeoutBounds, timeoutValues, typeText } from "./pipelineTexts.ts";

const target =
  "a path, put behind the resource's `base-url` with one slash between, or a whole address that begins with `http://` or `https://`";

const request = (method: string) => ({
  meaning: `Sends a ${method} request to this address: ${target}.`,
  values: ["/"],
});

/** A resource of type http. */
export const httpResourceTexts: FieldTexts = {
  type: typeText,
  "base-url": {
    meaning: "The address that is put before each step's path.",
    byDefault: "none: then each step has a whole address",
    bounds: "begins with `http://` or `https://`",
    values: ["http://127.0.0.1:8080"],
  },
  headers: {
    meaning: "Headers that are sent with each request. A step's own header of the same name wins.",
    byDefault: "none",
  },
  timeout: {
    meaning: "How long each request, its redirects and its reply may take together.",
    byDefault: "`10s`",
    bounds: timeoutBounds,
    values: timeoutValues,
  },
};

/** A step that uses such a resource. */
export const httpStepTexts: FieldTexts = {
  ...everyStepTexts,
  get: request("GET"),
  post: request("POST"),
  put: request("PUT"),
  patch: request("PATCH"),
  delete: request("DELETE"),
  head: request("HEAD"),
  headers: {
    meaning: "Headers of this request. They win over the resource's of the same name.",
    byDefault: "the resource's",
  },
  body: {
    meaning: "The request's body as text. Not with `get` or `head`, nor beside `json`.",
    byDefault: "none",
  },
  json: {
    meaning:
      "The request's body: any value, sent as JSON with `content-type: application/json`. Not with `get` or `head`, nor beside `body`.",
    byDefault: "none",
  },
  timeout: {
    meaning: "How long this request, its redirects and its reply may take together.",
    byDefault: "the resource's, else `10s`",
    bounds: timeoutBounds,
    values: timeoutValues,
  },
  expect: {
    meaning: "What the reply has to be like; otherwise the step fails.",
    byDefault: "a status of `2xx`",
  },
  "expect.status": {
    meaning: "The reply's status. Redirects are followed, unless a 3xx is expected.",
    byDefault: "`2xx`",
    bounds: "a number from 100 to 599, or `1xx` to `5xx`",
    values: [
      "2xx",
      "200",
      "201",
      "202",
      "204",
      "301",
      "304",
      "400",
      "401",
      "403",
      "404",
      "409",
      "422",
      "5xx",
    ],
  },
  "expect.headers": { meaning: `What each header of the reply holds: ${expectedText}.`, byDefault: "none" },
  "expect.json": {
    meaning:
      "A value that the reply's JSON has to match: objects may hold more than is written, lists have to be as long, all else has to be equal.",
    byDefault: "none",
  },
  "expect.text": { meaning: `What the reply holds: ${expectedText}.`, byDefault: "none" },
  "expect.time": {
    meaning: "The longest that the reply may take.",
    byDefault: "none",
    bounds: "a length of time",
    values: ["500ms", "1s", "2s", "5s"],
  },
};
