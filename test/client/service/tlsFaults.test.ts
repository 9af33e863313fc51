import assert from "node:assert/strict";
import { createServer as createPlainServer } from "node:http";
import { createServer, type ServerOptions } from "node:https";
import type { Server } from "node:net";
import { ServiceClient } from "../../../src/client/service/client.ts";
import { environmentFetch } from "../../../src/client/service/environmentFetch.ts";
import { OutOfReach, tlsFault } from "../../../src/client/service/reachFaults.ts";
import { certificate, trusting } from "../../certificate.ts";
import { FakeClock } from "../../clock/fakeClock.ts";
import { testKey } from "../loopbackService.ts";

const authority = certificate({ host: "test authority", isAuthority: true });
const unknown = certificate({ host: "unknown authority", isAuthority: true });
const good = certificate({ host: "localhost", issuer: authority });
const signsThoughItMayNot = certificate({ host: "middle", issuer: authority });

async function listening(server: Server): Promise<{ readonly port: number } & AsyncDisposable> {
  await new Promise<void>((resolve) => server.listen(0, "localhost", resolve));
  const address = server.address();
  assert.ok(typeof address === "object" && address !== null);
  return {
    port: address.port,
    [Symbol.asyncDispose]: () => new Promise<void>((resolve) => server.close(() => resolve())),
  };
}

const secure = (options: ServerOptions): Server =>
  createServer({ ...good, ...options }, (_, response) => response.end("{}"));

/** What is wrong, as one sentence and what to do. */
const faults: {
  readonly name: string;
  readonly server: () => Server;
  readonly message: RegExp;
  readonly next: RegExp;
}[] = [
  {
    name: "a certificate that has expired",
    server: () => secure(certificate({ host: "localhost", issuer: authority, days: [-9, -1] })),
    message: /^The certificate of localhost:\d+ can't be trusted: it has expired\.$/,
    next: /must renew it, unless this machine's clock is wrong: it says 2026-03-03 10:00 UTC\.$/,
  },
  {
    name: "a certificate that is not valid yet",
    server: () => secure(certificate({ host: "localhost", issuer: authority, days: [1, 9] })),
    message: /can't be trusted: it is not valid yet\.$/,
    next: /^Set this machine's clock if it is wrong: it says 2026-03-03 10:00 UTC\.$/,
  },
  {
    name: "a certificate that is signed by itself",
    server: () => secure(certificate({ host: "localhost" })),
    message: /can't be trusted: it is signed by itself\.$/,
    next: /set NODE_EXTRA_CA_CERTS to a file that holds it/,
  },
  {
    name: "a certificate of an unknown authority",
    server: () => secure(certificate({ host: "localhost", issuer: unknown })),
    message: /can't be trusted: it is signed by an authority that this machine doesn't know\.$/,
    next: /set NODE_EXTRA_CA_CERTS to a file with its certificate/,
  },
  {
    name: "a certificate of an unknown authority that is sent along",
    server: () => {
      const leaf = certificate({ host: "localhost", issuer: unknown });
      return secure({ key: leaf.key, cert: leaf.cert + unknown.cert });
    },
    message: /signed by an authority that this machine doesn't know\.$/,
    next: /NODE_EXTRA_CA_CERTS/,
  },
  {
    name: "a certificate for another host",
    server: () => secure(certificate({ host: "other.example", issuer: authority })),
    message: /can't be trusted: it is for other\.example\.$/,
    next: /^Write the name that it is for/,
  },
  {
    name: "a certificate signed by one that may sign none",
    server: () => {
      const leaf = certificate({ host: "localhost", issuer: signsThoughItMayNot });
      return secure({ key: leaf.key, cert: leaf.cert + signsThoughItMayNot.cert });
    },
    message: /can't be trusted: .*purpose.*\.$/,
    next: /must replace it/,
  },
  {
    name: "a weak key",
    server: () =>
      secure({
        ...certificate({ host: "localhost", issuer: authority, weak: true }),
        ciphers: "DEFAULT@SECLEVEL=0",
      }),
    message: /can't be trusted: .* key too weak\.$/,
    next: /must replace it/,
  },
  {
    name: "an old version of TLS",
    server: () => secure({ minVersion: "TLSv1", maxVersion: "TLSv1.1", ciphers: "ALL@SECLEVEL=0" }),
    message: /^No secure connection to localhost:\d+ could be made \(.*\)\.$/,
    next: /TLS settings/,
  },
  {
    name: "plain HTTP",
    server: () => createPlainServer((_, response) => response.end("{}")),
    message: /^What answers at localhost:\d+ speaks no TLS\.$/,
    next: /write http:\/\/ for what speaks plain HTTP/,
  },
];

describe("a fault of TLS is told by what is wrong and what to do:", () => {
  let trust: Disposable;
  before(() => {
    trust = trusting(authority);
  });
  after(() => trust[Symbol.dispose]());

  for (const { name, server, message, next } of faults) {
    for (const from of ["the tool", "the editor"] as const) {
      it(`${name}, from ${from}`, async () => {
        const opened = server();
        await using there = await listening(opened);
        const baseUrl = new URL(`https://localhost:${there.port}/`);
        const client = new ServiceClient({
          baseUrl,
          apiKey: testKey,
          clock: new FakeClock(),
          ...(from === "the tool" ? { fetch: environmentFetch(baseUrl, {}) } : {}),
        });
        await assert.rejects(client.org(new AbortController().signal), (error) => {
          assert.ok(error instanceof OutOfReach);
          assert.equal(error.fault, "tls");
          assert.match(error.message, message);
          assert.match(error.next, next);
          return true;
        });
      });
    }
  }

  const rare: [string, string, RegExp][] = [
    ["CERT_REVOKED", "certificate revoked", /can't be trusted: certificate revoked\.$/],
    ["UNSPECIFIED", "CA signature digest algorithm too weak", /signature digest algorithm too weak\.$/],
    ["ERR_TLS_CERT_ALTNAME_INVALID", "no names", /it is for another host\.$/],
    [
      "ERR_SSL_TLSV1_ALERT_INTERNAL_ERROR",
      "",
      /^No secure connection to host could be made \(tlsv1 alert internal error\)\.$/,
    ],
    ["EPROTO", "write EPROTO", /^No secure connection to host could be made \(EPROTO\)\.$/],
  ];
  for (const [code, said, message] of rare) {
    it(`${code} ${said}`.trim(), () => {
      const told = tlsFault(new Error(said), code, "host", 0);
      assert.match(told?.message ?? "", message);
      assert.match(told?.next ?? "", /^[A-Z].*\.$/);
    });
  }

  it("but not one of another kind", () => {
    assert.equal(tlsFault(new Error("x"), "ECONNRESET", "host", 0), undefined);
    assert.equal(tlsFault(new Error("x"), "UNSPECIFIED", "host", 0), undefined);
  });
});
