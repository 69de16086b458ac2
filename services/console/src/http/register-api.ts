import type { Clock } from '@hermes-fleet/protocol/ports';
import type { Store } from '@hermes-fleet/store';
import type { FastifyInstance } from 'fastify';
import type { Prices } from '../config/prices.ts';
import { guardSessions } from '../session/guard.ts';
import type { Sessions } from '../session/sessions.ts';
import type { StaticFile } from '../web/static-files.ts';
import { registerActions } from './actions.ts';
import type { StatusDocument } from './api.ts';
import { registerBlocked } from './blocked.ts';
import type { Changes } from './changes.ts';
import { registerContent } from './content.ts';
import { type FleetOptions, registerFleet } from './fleet.ts';
import { registerSession } from './session.ts';
import { type CommandOptions, registerForCommand, registerLogin } from './sign-in.ts';
import { registerSpending } from './spending.ts';
import { registerStatic } from './static.ts';
import { registerStream } from './stream.ts';
import { registerTaskList } from './task-list.ts';
import { registerTaskPage } from './task-page.ts';
import { registerToken, type TokenOptions } from './token.ts';
import { registerTrader } from './trader.ts';
import { type BooksOptions, registerTraderBooks } from './trader-books.ts';

export interface ApiOptions extends CommandOptions, TokenOptions, BooksOptions, FleetOptions {
  readonly store: Pick<Store, 'read'>;
  readonly sessions: Sessions;
  readonly prices: Prices;
  readonly changes: Changes;
  readonly status: () => StatusDocument;
  readonly clock: Clock;
  readonly web: { readonly files: readonly StaticFile[]; readonly policy: string };
}

/** The pages and the HTTP API of the console (docs/console.md#api). */
export function registerApi(app: FastifyInstance, options: ApiOptions): void {
  app.addHook('onSend', (_request, reply, _payload, done) => {
    reply.header('x-content-type-options', 'nosniff').header('referrer-policy', 'no-referrer');
    done();
  });
  registerStatic(app, options.web.files, options.web.policy);
  registerLogin(app, options);
  app.register(async (scope) => {
    guardSessions(scope, options.sessions);
    scope.addHook('onSend', (_request, reply, _payload, done) => {
      reply.header('cache-control', 'no-store');
      done();
    });
    registerForCommand(scope, options);
    registerSession(scope, options);
    scope.get('/api/status', () => options.status());
    registerFleet(scope, options);
    registerToken(scope, options);
    registerActions(scope, options);
    registerContent(scope, options);
    registerTaskList(scope, options);
    registerTaskPage(scope, options);
    registerBlocked(scope, options);
    registerSpending(scope, options);
    registerTrader(scope, options);
    registerTraderBooks(scope, options);
    await registerStream(scope, options);
  });
}
