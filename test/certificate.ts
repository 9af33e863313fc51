import { generateKeyPairSync, randomBytes, sign, X509Certificate } from "node:crypto";
import { getCACertificates, setDefaultCACertificates } from "node:tls";

export interface Certificate {
  readonly cert: string;
  readonly key: string;
}

export interface Wanted {
  /** The one name that it is for; also its own name. */
  readonly host: string;
  /** Who signs it; itself when left out. */
  readonly issuer?: Certificate;
  /** From when to when it is good, in days from now; a day before and after when left out. */
  readonly days?: readonly [from: number, to: number];
  /** Whether it may sign others. */
  readonly isAuthority?: boolean;
  /** An RSA key of 1024 bits, which OpenSSL takes for too weak. */
  readonly weak?: boolean;
}

/** A new certificate with its key, both as PEM. */
export function certificate({ host, issuer, days = [-1, 1], isAuthority, weak }: Wanted): Certificate {
  const { privateKey, publicKey } = weak
    ? generateKeyPairSync("rsa", { modulusLength: 1024 })
    : generateKeyPairSync("ec", { namedCurve: "P-256" });
  const name = nameOf(host);
  const ecdsaWithSha256 = sequence(objectId(1, 2, 840, 10045, 4, 3, 2));
  const alternativeName = sequence(
    objectId(2, 5, 29, 17),
    element(0x04, sequence(element(0x82, Buffer.from(host)))),
  );
  const signsOthers = sequence(
    objectId(2, 5, 29, 19),
    element(0x01, Buffer.of(0xff)),
    element(0x04, sequence(element(0x01, Buffer.of(0xff)))),
  );
  const body = sequence(
    element(0xa0, element(0x02, Buffer.of(2))),
    element(0x02, Buffer.concat([Buffer.of(1), randomBytes(8)])),
    ecdsaWithSha256,
    issuer === undefined ? name : nameOf(new X509Certificate(issuer.cert).subject.replace(/^CN=/, "")),
    sequence(time(days[0]), time(days[1])),
    name,
    publicKey.export({ type: "spki", format: "der" }),
    element(0xa3, sequence(alternativeName, ...(isAuthority ? [signsOthers] : []))),
  );
  const signature = element(0x03, Buffer.of(0), sign("sha256", body, issuer?.key ?? privateKey));
  return {
    cert: pem(sequence(body, ecdsaWithSha256, signature)),
    key: privateKey.export({ type: "pkcs8", format: "pem" }).toString(),
  };
}

/** Makes this process trust an authority, beside those that it trusts already, until it is disposed. */
export function trusting(authority: { readonly cert: string }): Disposable {
  const before = getCACertificates("default");
  setDefaultCACertificates([...before, authority.cert]);
  return { [Symbol.dispose]: () => setDefaultCACertificates(before) };
}

function nameOf(host: string): Buffer {
  return sequence(set(sequence(objectId(2, 5, 4, 3), element(0x0c, Buffer.from(host)))));
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
