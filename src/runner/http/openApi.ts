import type { ErrorObject, ValidateFunction } from "ajv";
import { Ajv2020 } from "ajv/dist/2020.js";
import addFormats from "ajv-formats";
import { isMap } from "../../pipeline/file/checkShape.ts";
import type { Mask } from "../mask/mask.ts";
import { interruptible } from "../output/textSearch.ts";
import { ApiDocument, type Asked, type Operation, type Place, pointed } from "./apiDocument.ts";
import { describeErrors, schemaOptions, uncheckable } from "./jsonSchema.ts";
import type { HttpRequest } from "./request.ts";
import type { HttpReply } from "./sendRequest.ts";

/** By what schemas refer to the document. */
const origin = "project:/api";

/** Says in which ways what is sent and what comes doesn't fit an OpenAPI document, a line each. */
export class ApiCheck implements AsyncDisposable {
  readonly #document: ApiDocument;
  /** For what is JSON itself, and for parameters and headers, whose values are texts. */
  readonly #ajv = { json: ajvOf({}), texts: ajvOf({ coerceTypes: true }) };

  readonly #compiled = new Map<string, ValidateFunction>();

  /** @throws StepFault as `ApiDocument.read` does. */
  static async of(root: string, path: string): Promise<ApiCheck> {
    return new ApiCheck(await ApiDocument.read(root, path));
  }

  constructor(document: ApiDocument) {
    this.#document = document;
    for (const ajv of Object.values(this.#ajv)) ajv.addSchema(document.root, origin, undefined, false);
  }

  ofRequest({ headers, body, ...asked }: HttpRequest & Asked, mask: Mask): readonly string[] {
    const { method, url } = asked;
    const operation = this.#find(asked, "request");
    if (operation === undefined) return [`\`${this.#document.path}\` has no ${method} ${url.pathname}`];
    const parameters = operation.parameters.map(({ fields, at }) => {
      const [place, name] = [String(fields["in"]), String(fields["name"])];
      const type = this.#document.at(`${at}/schema`)?.fields["type"];
      return { fields, at, place, type, name: place === "header" ? name.toLowerCase() : name };
    });
    const lists = parameters
      .filter(({ place, type, name }) => place === "query" && type === "array" && url.searchParams.has(name))
      .map(({ name, fields }) => {
        const all = url.searchParams.getAll(name);
        return [name, fields["explode"] === false ? all.join().split(",") : all] as const;
      });
    const values = {
      path: { ...operation.values },
      query: { ...Object.fromEntries(url.searchParams), ...Object.fromEntries(lists) },
      header: Object.fromEntries(
        Object.entries(headers).map(([name, all]) => [name, [all].flat().join(", ")]),
      ),
    };
    // How a map is written in a query is told by its style.
    const hasMaps = parameters.some(({ type }) => type === "object");
    const schema = (where: keyof typeof values) => {
      const here = parameters.filter(({ place }) => place === where);
      const schemas = here.map(({ name, at, fields, type }) => [
        name,
        isMap(fields["schema"]) && type !== "object" ? refer(`${at}/schema`) : {},
      ]);
      return {
        properties: Object.fromEntries(schemas),
        required: here.flatMap(({ name, fields }) => (fields["required"] === true ? name : [])),
        ...(where === "query" && !hasMaps && { additionalProperties: false }),
      };
    };
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
      // Many parts in braces, one beside the other, are a pattern that may take long.
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
      : this.#lines(what, "json", refer(`${at}/schema`), json.value, mask);
  }

  #lines(
    what: "request" | "reply" | "reply.headers",
    kind: "json" | "texts",
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
