/** What is said of a field of the pipeline file: in an editor, and in the JSON Schema. In Markdown, as plain sentences. */
export interface FieldText {
  readonly meaning: string;
  /** What holds where the field is left out: as it is written in the file, or in words. */
  readonly byDefault?: string;
  /** What it may be. */
  readonly bounds?: string;
  /** Values to offer, as they are written in the file. */
  readonly values?: readonly string[];
}

/**
 * The fields of a part of the file by their names; a field inside another by both, such as `expect.status`. A list counts for
 * nothing: the `query` of each of the `statements` is `statements.query`.
 */
export type FieldTexts = Readonly<Record<string, FieldText>>;

/** The text as it is read where there is one line for each thing that is told. */
export function describeField({ meaning, byDefault, bounds }: FieldText): string {
  const parts = [
    meaning,
    ...(byDefault === undefined ? [] : [`Default: ${byDefault}.`]),
    ...(bounds === undefined ? [] : [`Allowed: ${bounds}.`]),
  ];
  return parts.join(" ");
}

/** The fields under the name of one that holds them. */
export function inside(name: string, texts: FieldTexts): FieldTexts {
  return Object.fromEntries(Object.entries(texts).map(([field, text]) => [`${name}.${field}`, text]));
}

/** Said of each field that is compared with a text. */
export const expectedText = "as it stands, or between slashes a regular expression that some line matches";
/** Said of each `timeout`. */
export const timeoutBounds = "from `1ms` to `1h`";
export const timeoutValues = ["1s", "5s", "10s", "30s", "1m"] as const;
