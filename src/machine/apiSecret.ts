import { hash, randomBytes, timingSafeEqual } from "node:crypto";

/** `plr_`, the key's id, and 256 random bits. The prefix lets secret scanners find a leaked one. */
const secretPattern = /^plr_([0-9a-z]{26})_[\w-]{43}$/;
const secretInText = /plr_[0-9a-z]{26}_[\w-]{43}/;
/** Matches a truncated secret too, which may be most of one. */
const piecesInText = /plr_[0-9a-z]{26}_[\w-]{1,43}/g;

/** The id is part of the secret, so that only one hash is compared. */
export function makeSecret(keyId: string): string {
  return `plr_${keyId.slice("key_".length)}_${randomBytes(32).toString("base64url")}`;
}

/** The key's id within a secret; undefined for a text that isn't one. */
export function keyIdOf(secret: string): string | undefined {
  const id = secretPattern.exec(secret)?.[1];
  return id === undefined ? undefined : `key_${id}`;
}

/** SHA-256 in hex. A fast hash is enough for 256 random bits. */
export function hashOf(secret: string): string {
  return hash("sha256", secret);
}

/** Whether a secret has this hash. Takes the same time where there is no such key, so that it doesn't tell which ids exist. */
export function matches(secret: string, known: string | undefined): boolean {
  const same = timingSafeEqual(
    Buffer.from(known ?? noSecretsHash, "hex"),
    Buffer.from(hashOf(secret), "hex"),
  );
  return same && known !== undefined;
}

/** Hides API keys in a text that is logged or sent back. */
export function hideSecrets(text: string): string {
  // The fast way for nearly every text.
  return text.includes("plr_") ? text.replaceAll(piecesInText, "plr_…") : text;
}

/** Whether a text holds an API key, which must not be stored as anything else. */
export function holdsSecret(text: string): boolean {
  return secretInText.test(text);
}

const noSecretsHash = hashOf("");
