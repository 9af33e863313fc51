export { copyFile, cp } from "node:fs/promises";
