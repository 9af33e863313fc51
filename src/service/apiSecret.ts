import { hash, randomBytes, timingSafeEqual } from "node:crypto";

/** `plr_`, the key's id, and 256 random bits. The prefix lets secret scanners find a leaked one. */
const secretPattern = /^plr_([0-9a-z]{26})_[\w-]{43}$/;
const secretInText = /plr_[0-9a-z]{26}_[\w-]{43}/;
/** Also one that is cut off, as where a text was too long: what is left of it is most of it. */
const piecesInText = /plr_[0-9a-z]{26}_[\w-]{1,43}/g;

/** The id is part of the secret, so that a key is found by it and only one hash is ever compared. */
export function makeSecret(keyId: string): string {
  return `plr_${keyId.slice("key_".length)}_${randomBytes(32).toString("base64url")}`;
}

/** The id of the key that a secret says it is of; undefined for what has not even the form of one. */
export function keyIdOf(secret: string): string | undefined {
  const id = secretPattern.exec(secret)?.[1];
  return id === undefined ? undefined : `key_${id}`;
}

/** SHA-256 in hex: a secret is random enough that nobody finds it from a fast hash. */
export function hashOf(secret: string): string {
  return hash("sha256", secret);
}

/**
 * Whether a secret has this hash, in constant time. Without a hash, where there is no such key, the same work is done,
 * so that the time of an answer doesn't tell which ids exist.
 */
export function matches(secret: string, known: string | undefined): boolean {
  const same = timingSafeEqual(
    Buffer.from(known ?? noSecretsHash, "hex"),
    Buffer.from(hashOf(secret), "hex"),
  );
  return same && known !== undefined;
}

/** For what is written down or sent back: a key that stands in the wrong place is not told on. */
export function hideSecrets(text: string): string {
  // Nearly no text holds one, which is seen faster so.
  return text.includes("plr_") ? text.replaceAll(piecesInText, "plr_…") : text;
}

/** Whether a text holds a key, which must not be kept under any other name. */
export function holdsSecret(text: string): boolean {
  return secretInText.test(text);
}

const noSecretsHash = hashOf("");
