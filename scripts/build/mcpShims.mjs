/**
 * What the library of `pipeline mcp` has of Node, but without its validator of JSON Schemas, half of its weight: that is for
 * the forms that a server asks people to fill in, and this one asks for none.
 */
export { default as process } from "node:process";

export class DefaultJsonSchemaValidator {
  getValidator() {
    throw new Error("this server asks for no forms");
  }
}
