// `sign SUBJECT PRIVATE` prints a signed token (JWT, HS256) as JSON; `read TOKEN` checks one and prints what it claims.
import { createHmac } from "node:crypto";

const [action, ...words] = process.argv.slice(2);
const piece = (value) => Buffer.from(JSON.stringify(value)).toString("base64url");
const signatureOf = (text) => createHmac("sha256", "a key of the tests").update(text).digest("base64url");

if (action === "sign") {
  const [sub, own] = words;
  const text = `${piece({ alg: "HS256", typ: "JWT" })}.${piece({ iss: "peers", sub, private: own })}`;
  console.log(JSON.stringify({ token: `${text}.${signatureOf(text)}` }));
} else {
  const [head, claims, signature] = words[0].split(".");
  if (signature !== signatureOf(`${head}.${claims}`)) throw new Error("the signature is another's");
  console.log(Buffer.from(claims, "base64url").toString());
}
