import { FleetError } from '@hermes-fleet/protocol';
import { CONSOLE } from '@hermes-fleet/protocol/api';
import { serve } from '@hermes-fleet/service';
import type { FastifyInstance } from 'fastify';
import { iso, isoOrNull } from '../read-model/task-rows.ts';
import { highestHeadsIn } from '../read-model/trader.ts';
import { sessionCookie } from '../session/guard.ts';
import { isSame } from '../session/secrets.ts';
import type { ApiOptions } from './options.ts';

/** `GET /login`: a one-time code opens a session. A HEAD, such as that of a link preview, uses up no code. */
export function registerLogin(app: FastifyInstance, { codes, sessions }: ApiOptions): void {
  const config = { public: true };
  app.get<{ Querystring: { code?: unknown } }>(
    '/login',
    { config, exposeHeadRoute: false },
    async (request, reply) => {
      const { code } = request.query;
      reply.header('cache-control', 'no-store');
      if (typeof code !== 'string' || !codes.use(code))
        return await reply.code(403).type('text/html; charset=utf-8').send(REFUSED);
      return await reply.header('set-cookie', sessionCookie(await sessions.openSession())).redirect('/', 303);
    },
  );
}

/**
 * What the `fleet` command asks, with the secret of the console: a one-time code, a read model that is made anew from the
 * streams, and the highest heads of audits that it ever saw (docs/console.md#a-witness-of-the-audit).
 */
export function registerForCommand(scope: FastifyInstance, options: ApiOptions): void {
  const { codes, loginSecret, rebuild, store } = options;
  const withSecret = { config: { withSecret: true } };
  serve(scope, CONSOLE.codes, withSecret, (request, reply) => {
    requireSecret(request.headers.authorization, loginSecret);
    const { code, expiresAt } = codes.make();
    reply.code(201).header('cache-control', 'no-store');
    return { code, path: `/login?code=${code}`, expires_at: iso(expiresAt) };
  });
  serve(scope, CONSOLE.rebuild, withSecret, async (request, reply) => {
    requireSecret(request.headers.authorization, loginSecret);
    const { rebuiltAt, reachesBackTo } = await rebuild();
    reply.code(202);
    return { rebuilt_at: iso(rebuiltAt), reaches_back_to: isoOrNull(reachesBackTo) };
  });
  serve(scope, CONSOLE.auditHeads, withSecret, (request) => {
    requireSecret(request.headers.authorization, loginSecret);
    return { heads: store.read(highestHeadsIn) };
  });
}

/** Throws UNAUTHENTICATED unless the header has the secret of the console. */
function requireSecret(authorization: string | undefined, secret: string): void {
  const given = /^Bearer +([^\s]+) *$/i.exec(authorization ?? '')?.[1];
  if (given === undefined || !isSame(given, secret))
    throw new FleetError('UNAUTHENTICATED', 'send "Authorization: Bearer <CONSOLE_LOGIN>"');
}

const REFUSED = `<!doctype html>
<html lang="en">
<head><meta charset="utf-8"><meta name="viewport" content="width=device-width"><title>Hermes Fleet: sign in</title></head>
<body>
<h1>This link has been used or is too old</h1>
<p>A link opens the console once, within five minutes. For a new one, run:</p>
<pre>fleet console</pre>
</body>
</html>
`;
