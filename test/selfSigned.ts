import { generateKeyPairSync, sign } from "node:crypto";

interface Certificate {
  readonly cert: string;
  readonly key: string;
}

/** A new certificate for one host name, signed by itself and good for a day before and after now; both parts as PEM. */
export function selfSigned(host: string): Certificate {
  const { privateKey, publicKey } = generateKeyPairSync("ec", { namedCurve: "P-256" });
  const name = sequence(set(sequence(objectId(2, 5, 4, 3), element(0x0c, Buffer.from(host)))));
  const ecdsaWithSha256 = sequence(objectId(1, 2, 840, 10045, 4, 3, 2));
  const alternativeName = sequence(
    objectId(2, 5, 29, 17),
    element(0x04, sequence(element(0x82, Buffer.from(host)))),
  );
  const body = sequence(
    element(0xa0, element(0x02, Buffer.of(2))),
    element(0x02, Buffer.of(1)),
    ecdsaWithSha256,
    name,
    sequence(time(-1), time(1)),
    name,
    publicKey.export({ type: "spki", format: "der" }),
    element(0xa3, sequence(alternativeName)),
  );
  const signature = element(0x03, Buffer.of(0), sign("sha256", body, privateKey));
  return {
    cert: pem(sequence(body, ecdsaWithSha256, signature)),
    key: privateKey.export({ type: "pkcs8", format: "pem" }).toString(),
  };
}

/** A value of ASN.1 in its one way to be written, DER. */
function element(tag: number, ...parts: readonly Buffer[]): Buffer {
  const content = Buffer.concat(parts);
  const { length } = content;
  const size =
    length < 0x80 ? [length] : length < 0x100 ? [0x81, length] : [0x82, length >> 8, length & 0xff];
  return Buffer.concat([Buffer.of(tag, ...size), content]);
}

function sequence(...parts: readonly Buffer[]): Buffer {
  return element(0x30, ...parts);
}

function set(...parts: readonly Buffer[]): Buffer {
  return element(0x31, ...parts);
}

function objectId(first: number, second: number, ...others: readonly number[]): Buffer {
  const bytes = others.flatMap((number) => {
    const digits = [number & 0x7f];
    for (let rest = number >> 7; rest > 0; rest >>= 7) digits.unshift(0x80 | (rest & 0x7f));
    return digits;
  });
  return element(0x06, Buffer.of(first * 40 + second, ...bytes));
}

function time(daysFromNow: number): Buffer {
  const iso = new Date(Date.now() + daysFromNow * 86_400_000).toISOString();
  return element(0x17, Buffer.from(`${iso.slice(2, 19).replace(/\D/g, "")}Z`));
}

function pem(der: Buffer): string {
  const lines = der.toString("base64").match(/.{1,64}/g) ?? [];
  return ["-----BEGIN CERTIFICATE-----", ...lines, "-----END CERTIFICATE-----", ""].join("\n");
}
