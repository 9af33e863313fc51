import { getCACertificates, setDefaultCACertificates } from "node:tls";

/** Makes this process trust an authority, beside those that it trusts already, until it is disposed. */
export function trusting(authority: { readonly cert: string }): Disposable {
  const before = getCACertificates("default");
  setDefaultCACertificates([...before, authority.cert]);
  return { [Symbol.dispose]: () => setDefaultCACertificates(before) };
}
