import * as fc from "fast-check";

/** Asserts a property that needs no waiting; one name, so that a promise can't be forgotten. */
export function holds<T>(property: fc.IProperty<T>): void {
  void fc.assert(property);
}
