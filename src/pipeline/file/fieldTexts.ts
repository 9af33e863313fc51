/** The documentation of a field of the pipeline file, in Markdown, for editors and the JSON Schema. */
export interface FieldText {
  readonly meaning: string;
  /** The default: as it is written in the file, or in words. */
  readonly byDefault?: string;
  /** The allowed values, in words. */
  readonly bounds?: string;
  /** Values for completion, as they are written in the file. */
  readonly values?: readonly string[];
}

/**
 * Fields by name; a nested field by its path, such as `expect.status`. Lists add nothing to a path: the `query` of each
 * of the `statements` is `statements.query`.
 */
export type FieldTexts = Readonly<Record<string, FieldText>>;

export function describeField({ meaning, byDefault, bounds }: FieldText): string {
  const parts = [
    meaning,
    ...(byDefault === undefined ? [] : [`Default: ${byDefault}.`]),
    ...(bounds === undefined ? [] : [`Allowed: ${bounds}.`]),
  ];
  return parts.join(" ");
}

/** Prefixes the fields with the name of the field that contains them. */
export function inside(name: string, texts: FieldTexts): FieldTexts {
  return Object.fromEntries(Object.entries(texts).map(([field, text]) => [`${name}.${field}`, text]));
}

/** For each field that is compared with a text. */
export const expectedText = "as it stands, or between slashes a regular expression that some line matches";

/** The documentation of a field that says how long something may take. */
export function timeoutText(meaning: string, byDefault: string): FieldText {
  return { meaning, byDefault, bounds: "from `1ms` to `1h`", values: ["1s", "5s", "10s", "30s", "1m"] };
}
