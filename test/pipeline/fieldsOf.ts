import type { Field, Shape } from "../../src/pipeline/editing/shape.ts";

/** The fields of a shape at any depth, each with its path, such as `expect.status`. */
export function fieldsOf(
  shape: Shape | undefined,
  prefix = "",
): readonly (Field & { readonly path: string })[] {
  if (shape === undefined) return [];
  return [
    ...fieldsOf(shape.item, prefix),
    ...fieldsOf(shape.named, prefix),
    ...[...shape.fields.values()].flatMap((field) => {
      const path = prefix === "" ? field.name : `${prefix}.${field.name}`;
      return [{ ...field, path }, ...fieldsOf(field.shape, path)];
    }),
  ];
}
