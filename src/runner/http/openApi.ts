import type { ErrorObject, ValidateFunction } from "ajv";
import { Ajv2020 } from "ajv/dist/2020.js";
import addFormats from "ajv-formats";
import { isMap } from "../../pipeline/file/checkShape.ts";
import type { Mask } from "../mask/mask.ts";
import { interruptible } from "../output/textSearch.ts";
import { ApiDocument, type Asked, type Fields, type Operation, type Place, pointed } from "./apiDocument.ts";
import { describeErrors, schemaOptions, uncheckable } from "./jsonSchema.ts";
import type { HttpRequest } from "./request.ts";
import type { HttpReply } from "./sendRequest.ts";

/** The URI by which schemas refer to the document. */
const origin = "project:/api";

/** Says how requests and replies don't fit an OpenAPI document, one line per mismatch. */
export class ApiCheck implements AsyncDisposable {
  readonly #document: ApiDocument;
  /** The validators of requests' JSON, of replies' JSON, and of parameters and headers, whose values are texts. */
  readonly #ajv = { request: ajvOf({}), reply: ajvOf({}), texts: ajvOf({ coerceTypes: true }) };

  readonly #compiled = new Map<string, ValidateFunction>();

  /** @throws StepFault as `ApiDocument.read` does. */
  static async of(root: string, path: string): Promise<ApiCheck> {
    return new ApiCheck(await ApiDocument.read(root, path));
  }

  constructor(document: ApiDocument) {
    this.#document = document;
    const { request, reply, texts } = this.#ajv;
    request.addSchema(document.withoutRequired("readOnly"), origin, undefined, false);
    reply.addSchema(document.withoutRequired("writeOnly"), origin, undefined, false);
    texts.addSchema(document.root, origin, undefined, false);
  }

  ofRequest({ headers, body, ...asked }: HttpRequest & Asked, mask: Mask): readonly string[] {
    const { method, url } = asked;
    const operation = this.#find(asked, "request");
    if (operation === undefined) return [`\`${this.#document.path}\` has no ${method} ${url.pathname}`];
    const values: Record<string, Record<string, unknown>> = {
      path: { ...operation.values },
      query: Object.fromEntries(url.searchParams),
      header: Object.fromEntries(
        Object.entries(headers).map(([name, all]) => [name, [all].flat().join(", ")]),
      ),
    };
    const schemas: Record<string, Record<string, object>> = { path: {}, query: {}, header: {} };
    const required: Record<string, string[]> = { path: [], query: [], header: [] };
    let hasMaps = false;
    for (const { fields, at } of operation.parameters) {
      const [place, name] = [String(fields["in"]), String(fields["name"])];
      // Otherwise `place` could be `__proto__`, and change all objects.
      if (!Object.hasOwn(schemas, place)) continue;
      const known = place === "header" ? name.toLowerCase() : name;
      const types = this.#document.typesOf(`${at}/schema`);
      const given = place === "query" ? url.searchParams.getAll(name) : textsOf(values[place], known);
      // A single value stays a text where the schema allows both a list and a text.
      const isList = types.every((type) => type === "array" || type === "null") || given.length > 1;
      if (types.includes("array") && isList && given.length > 0) {
        Object.assign(values[place] ?? {}, { [known]: itemsOf(fields, given) });
      }
      // A map isn't checked: its style says how a query writes it.
      const isOfMap = types.includes("object");
      hasMaps ||= isOfMap;
      const isRead = isMap(fields["schema"]) && !isOfMap && !isPrefixed(fields);
      Object.assign(schemas[place] ?? {}, { [known]: isRead ? refer(`${at}/schema`) : {} });
      if (fields["required"] === true) required[place]?.push(known);
    }
    const schema = (place: string) => ({
      properties: schemas[place],
      required: required[place],
      ...(place === "query" && !hasMaps && { additionalProperties: false }),
    });
    const content = body && {
      type: body.type === undefined ? "multipart/form-data" : String(headers["content-type"]),
      text: body.text,
    };
    const properties = { path: schema("path"), query: schema("query"), header: schema("header") };
    return [
      ...this.#lines("request", "texts", { properties }, values, mask),
      ...this.#ofBody("request", this.#document.at(`${operation.at}/requestBody`), content, mask),
    ];
  }

  ofReply({ status, headers, text }: HttpReply, asked: Asked, mask: Mask): readonly string[] {
    const operation = this.#find(asked, "reply");
    if (operation === undefined) return [];
    const known = Object.keys(this.#document.at(`${operation.at}/responses`)?.fields ?? {});
    const name = [String(status), `${String(status).slice(0, 1)}XX`, "DEFAULT"]
      .map((wanted) => known.find((one) => one.toUpperCase() === wanted))
      .find((one) => one !== undefined);
    if (name === undefined)
      return [
        `\`${this.#document.path}\` has no status ${status} of ${asked.method} ${operation.path}; it has ${known.join(", ")}`,
      ];
    const reply = this.#document.at(`${operation.at}/responses/${name}`);
    const ofHeaders = Object.keys(this.#document.at(`${reply?.at}/headers`)?.fields ?? {}).map(
      (header) =>
        [header.toLowerCase(), this.#document.at(`${reply?.at}/headers/${pointed(header)}`)] as const,
    );
    const schema = {
      properties: Object.fromEntries(
        ofHeaders.map(([header, place]) => [
          header,
          place !== undefined && isMap(place.fields["schema"]) ? refer(`${place.at}/schema`) : {},
        ]),
      ),
      required: ofHeaders.flatMap(([header, place]) => (place?.fields["required"] === true ? header : [])),
    };
    const isThere = text !== "" && asked.method !== "HEAD";
    const content = isThere ? { type: headers.get("content-type") ?? "", text } : undefined;
    return [
      ...this.#lines("reply.headers", "texts", schema, Object.fromEntries(headers), mask),
      ...this.#ofBody("reply", reply, content, mask),
    ];
  }

  async [Symbol.asyncDispose](): Promise<void> {}

  #find(asked: Asked, what: "request" | "reply"): Operation | undefined {
    let operation: Operation | undefined;
    try {
      // Matching a path with many parts in braces side by side may take long.
      interruptible(() => {
        operation = this.#document.find(asked);
      })();
    } catch (error) {
      throw uncheckable(what, this.#document.path, error);
    }
    return operation;
  }

  /** @param body its text, where it has been read. */
  #ofBody(
    what: "request" | "reply",
    place: Place | undefined,
    body: { readonly type: string; readonly text: string | undefined } | undefined,
    mask: Mask,
  ): readonly string[] {
    const content = place && this.#document.at(`${place.at}/content`);
    if (body === undefined)
      return place?.fields["required"] === true ? [this.#says(`${what}: expected a body, got nothing`)] : [];
    if (content === undefined) return [];
    const known = Object.keys(content.fields);
    const [essence = ""] = body.type.toLowerCase().split(/\s*;/);
    const name = [essence, essence.replace(/\/.*/, "/*"), "*/*"]
      .map((wanted) => known.find((one) => one.toLowerCase().split(/\s*;/)[0] === wanted))
      .find((one) => one !== undefined);
    if (name === undefined)
      return [
        this.#says(`${what}: no body of type ${essence || "unknown"} is known; it is ${known.join(" or ")}`),
      ];
    const { at, fields } = this.#document.at(`${content.at}/${pointed(name)}`) ?? content;
    if (body.text === undefined || !/[/+]json$/.test(essence) || !isMap(fields["schema"])) return [];
    const json = parsed(body.text);
    return json === undefined
      ? [this.#says(`${what}: expected JSON, as its type says`)]
      : this.#lines(what, what, refer(`${at}/schema`), json.value, mask);
  }

  #lines(
    what: "request" | "reply" | "reply.headers",
    kind: "request" | "reply" | "texts",
    schema: object,
    value: unknown,
    mask: Mask,
  ): readonly string[] {
    let errors: readonly ErrorObject[] = [];
    try {
      const key = kind + JSON.stringify(schema);
      const validate = this.#compiled.get(key) ?? this.#ajv[kind].compile(schema);
      this.#compiled.set(key, validate);
      interruptible(() => void validate(value))();
      errors = validate.errors ?? [];
    } catch (error) {
      throw uncheckable(what === "request" ? what : "reply", this.#document.path, error);
    }
    const lines = describeErrors(errors, value, mask, this.#document.path);
    return lines.map((line) => this.#says(line.replace(/^\$/, what)));
  }

  #says(line: string): string {
    return `\`${this.#document.path}\`: ${line}`;
  }
}

function ajvOf(more: object): Ajv2020 {
  const ajv = new Ajv2020({ ...schemaOptions, ...more });
  addFormats.default(ajv);
  return ajv;
}

function textsOf(values: Record<string, unknown> | undefined, name: string): readonly string[] {
  return values !== undefined && Object.hasOwn(values, name) ? [String(values[name])] : [];
}

const separators = new Map<unknown, string>([
  ["pipeDelimited", "|"],
  ["spaceDelimited", " "],
]);

/** The items of a list, by its parameter's style. Only in the query may the parameter be repeated for each item. */
function itemsOf({ in: place, style, explode }: Fields, given: readonly string[]): readonly string[] {
  const separator = separators.get(style);
  if (place === "query" && (explode ?? separator === undefined) === true) return given;
  const items = given.join(separator ?? ",").split(separator ?? ",");
  return place === "header" ? items.map((item) => item.trim()) : items;
}

/** Whether a value in the path is preceded by its name or a dot, which isn't removed. */
function isPrefixed({ style }: Fields): boolean {
  return style === "matrix" || style === "label";
}

function refer(pointer: string): object {
  return { $ref: `${origin}#${pointer.split("/").map(encodeURIComponent).join("/")}` };
}

function parsed(text: string): { readonly value: unknown } | undefined {
  try {
    return { value: JSON.parse(text) };
  } catch {
    return undefined;
  }
}
