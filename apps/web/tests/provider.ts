import { once } from "node:events";
import { createServer } from "node:http";
import type { AddressInfo } from "node:net";
import { Provider } from "oidc-provider";

/** An identity provider on this machine. Its own development pages ask for a login name, which becomes the address. */
export async function startProvider() {
  const server = createServer();
  server.listen(0, "127.0.0.1");
  await once(server, "listening");
  const issuer = `http://127.0.0.1:${(server.address() as AddressInfo).port}`;
  const makeProvider = (callbackUrl: string) =>
    new Provider(issuer, {
      clients: [
        {
          client_id: "countersign",
          client_secret: "a client secret of the tests",
          redirect_uris: [callbackUrl],
          response_types: ["code"],
          grant_types: ["authorization_code"],
        },
      ],
      claims: { openid: ["sub"], email: ["email", "email_verified"] },
      conformIdTokenClaims: false,
      pkce: { required: () => true },
      findAccount: (_context, id) => ({
        accountId: id,
        claims: () => ({ sub: id, email: `${id}@example.test`, email_verified: !id.startsWith("unproven") }),
      }),
    });
  return {
    issuer,
    /** Afterwards it answers, and sends people back to this address alone. */
    serve(callbackUrl: string): void {
      const answer = makeProvider(callbackUrl).callback();
      server.on("request", (request, response) => void answer(request, response));
    },
    async stop() {
      server.closeAllConnections();
      server.close();
      await once(server, "close");
    },
  };
}
