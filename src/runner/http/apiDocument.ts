import { readFile } from "node:fs/promises";
import { upgrade } from "@scalar/openapi-upgrader";
import { parse } from "yaml";
import { describeError } from "../../contract/errors.ts";
import { isMap } from "../../pipeline/file/checkShape.ts";
import { projectFile } from "../step/projectFile.ts";
import { StepFault } from "../step/stepContext.ts";
import { type HttpRequest, isOwnOrigin } from "./request.ts";

export type Fields = Readonly<Record<string, unknown>>;

/** A map in the document, with its references followed, and the JSON pointer by which schemas refer to it. */
export interface Place {
  readonly fields: Fields;
  readonly at: string;
}

export interface Operation extends Place {
  /** As the document writes it: `/lamps/{id}`. */
  readonly path: string;
  /** The values of the parts in braces. */
  readonly values: Readonly<Record<string, string>>;
  readonly parameters: readonly Place[];
}

export interface Asked extends Pick<HttpRequest, "method" | "url"> {
  /** The resource's address. */
  readonly base: string;
}

const mostReferences = 20;

/** An OpenAPI document of the project, converted to version 3.1. */
export class ApiDocument {
  readonly path: string;
  readonly root: Fields;

  /**
   * Reads a document: OpenAPI 3.0 or 3.1, or Swagger 2.0, in YAML or JSON.
   * @param root the project's folder.
   * @throws StepFault when it can't be used.
   */
  static async read(root: string, path: string): Promise<ApiDocument> {
    const text = await readFile(await projectFile(root, path), "utf8");
    try {
      const written: unknown = parse(text);
      if (!isMap(written)) throw new Error("it is no map");
      const document: unknown = upgrade(written, "3.1");
      if (!isMap(document) || !isMap(document["paths"])) throw new Error("it has no `paths`");
      const json = JSON.stringify(document);
      const elsewhere = /"\$ref":"(?!#)((?:[^"\\]|\\.)*)"/.exec(json)?.[1];
      if (elsewhere !== undefined)
        throw new Error(`it refers to \`${elsewhere}\`; only references within the file are followed`);
      return new ApiDocument(path, JSON.parse(json, withNull));
    } catch (error) {
      throw new StepFault(`\`${path}\` is no OpenAPI document that can be used: ${describeError(error)}`);
    }
  }

  constructor(path: string, root: Fields) {
    this.path = path;
    this.root = root;
  }

  /** The operation of an address, relative to the resource's own or to that of one of the document's servers. */
  find({ method, url, base }: Asked): Operation | undefined {
    // A redirect may have led elsewhere.
    if (!isOwnOrigin(base, url)) return undefined;
    const servers = [this.root["servers"]].flat().map((one) => (isMap(one) ? String(one["url"]) : "/"));
    const paths = Object.keys(this.at("/paths")?.fields ?? {});
    // A path with fewer braces is the closer match.
    paths.sort((one, other) => one.split("{").length - other.split("{").length);
    for (const address of [base, ...servers, "/"]) {
      const root = URL.parse(address, url.origin)?.pathname.replace(/\/$/, "") ?? "";
      if (!`${url.pathname}/`.startsWith(`${root}/`)) continue;
      const asked = url.pathname.slice(root.length) || "/";
      for (const path of paths) {
        const values = valuesIn(path, asked);
        if (values === undefined) continue;
        const item = this.at(`/paths/${pointed(path)}`);
        const operation = item && this.at(`${item.at}/${method.toLowerCase()}`);
        if (item === undefined || operation === undefined) continue;
        const parameters = [item.at, operation.at].flatMap((place) => this.#items(`${place}/parameters`));
        return { ...operation, path, values, parameters };
      }
    }
    return undefined;
  }

  #items(pointer: string): readonly Place[] {
    const list = this.#value(pointer);
    return Array.isArray(list) ? list.flatMap((_, index) => this.at(`${pointer}/${index}`) ?? []) : [];
  }

  /** The map at a JSON pointer, or where its references lead. */
  at(pointer: string, references = 0): Place | undefined {
    const fields = this.#value(pointer);
    if (!isMap(fields)) return undefined;
    const { $ref: reference } = fields;
    if (typeof reference !== "string") return { fields, at: pointer };
    return references > mostReferences
      ? undefined
      : this.at(decodeURIComponent(reference.slice(1)), references + 1);
  }

  /**
   * The document in which members that aren't sent aren't required, as OpenAPI defines `required`: `readOnly` ones in requests,
   * `writeOnly` ones in replies.
   */
  withoutRequired(mark: "readOnly" | "writeOnly"): Fields {
    const isMarked = (schema: unknown): boolean => {
      if (!isMap(schema)) return false;
      const { $ref: reference } = schema;
      const target =
        typeof reference === "string" ? this.at(decodeURIComponent(reference.slice(1))) : undefined;
      return schema[mark] === true || target?.fields[mark] === true;
    };
    return JSON.parse(JSON.stringify(this.root), (_, value: unknown) => {
      if (!isMap(value)) return value;
      const { required, properties } = value;
      if (!Array.isArray(required) || !isMap(properties)) return value;
      return { ...value, required: required.filter((name) => !isMarked(properties[name])) };
    });
  }

  /** The types that a schema names, itself or in the schemas that it is composed of. */
  typesOf(pointer: string, depth = 0): readonly unknown[] {
    const place = depth > mostReferences ? undefined : this.at(pointer);
    if (place === undefined) return [];
    const { at, fields } = place;
    const inner = ["allOf", "anyOf", "oneOf"].flatMap((name) => {
      const schemas = fields[name];
      return Array.isArray(schemas)
        ? schemas.flatMap((_, index) => this.typesOf(`${at}/${name}/${index}`, depth + 1))
        : [];
    });
    return [fields["type"] ?? [], inner].flat();
  }

  #value(pointer: string): unknown {
    const names = pointer.split("/").slice(1);
    return names.reduce((value: unknown, escaped) => {
      const name = escaped.replaceAll("~1", "/").replaceAll("~0", "~");
      return typeof value === "object" && value !== null && Object.hasOwn(value, name)
        ? Reflect.get(value, name)
        : undefined;
    }, this.root);
  }
}

/** Lets an OpenAPI 3.0 schema that is `nullable` and composed of others be null: the conversion to 3.1 only drops the word. */
function withNull(_name: string, value: unknown): unknown {
  if (!isMap(value) || value["nullable"] !== true || value["type"] !== undefined) return value;
  const { nullable: _, allOf, anyOf, oneOf, ...rest } = value;
  const others = Object.entries({ allOf, anyOf, oneOf }).filter(([, schemas]) => schemas !== undefined);
  if (others.length === 0) return rest;
  return { ...rest, anyOf: [Object.fromEntries(others), { type: "null" }] };
}

/** A name within a JSON pointer. */
export function pointed(name: string): string {
  return name.replaceAll("~", "~0").replaceAll("/", "~1");
}

/** The values of a path's parts in braces; undefined if the path doesn't match. */
function valuesIn(path: string, asked: string): Record<string, string> | undefined {
  const names: string[] = [];
  const pattern = path
    .split(/(\{[^}]*\})/)
    .map((piece) => {
      if (!/^\{.*\}$/.test(piece)) return piece.replace(/[.*+?^${}()|[\]\\]/g, "\\$&");
      names.push(piece.slice(1, -1));
      return "([^/]+)";
    })
    .join("");
  const found = new RegExp(`^${pattern}/?$`).exec(asked);
  if (found === null) return undefined;
  return Object.fromEntries(names.map((name, index) => [name, unescaped(found[index + 1] ?? "")]));
}

function unescaped(text: string): string {
  try {
    return decodeURIComponent(text);
  } catch {
    return text;
  }
}
