import type { FastifyInstance } from 'fastify';
import { guardSessions } from '../session/guard.ts';
import { registerActions } from './actions.ts';
import { registerBlocked } from './blocked.ts';
import { registerContent } from './content.ts';
import { registerFleet } from './fleet.ts';
import type { ApiOptions } from './options.ts';
import { registerSession } from './session.ts';
import { registerForCommand, registerLogin } from './sign-in.ts';
import { registerSpending } from './spending.ts';
import { registerStatic } from './static.ts';
import { registerStream } from './stream.ts';
import { registerTaskList } from './task-list.ts';
import { registerTaskPage } from './task-page.ts';
import { registerTrader } from './trader.ts';
import { registerTraderBooks } from './trader-books.ts';

/** The routes below /api, which take a session, or the secret of the console. */
const ROUTES = [
  registerForCommand,
  registerSession,
  registerFleet,
  registerActions,
  registerContent,
  registerTaskList,
  registerTaskPage,
  registerBlocked,
  registerSpending,
  registerTrader,
  registerTraderBooks,
  registerStream,
];

/** The pages and the HTTP API of the console (docs/console.md#api). */
export function registerApi(app: FastifyInstance, options: ApiOptions): void {
  app.addHook('onSend', (_request, reply, _payload, done) => {
    reply.header('x-content-type-options', 'nosniff').header('referrer-policy', 'no-referrer');
    done();
  });
  registerStatic(app, options.web);
  registerLogin(app, options);
  app.register(async (scope) => {
    guardSessions(scope, options.sessions);
    scope.addHook('onSend', (_request, reply, _payload, done) => {
      reply.header('cache-control', 'no-store');
      done();
    });
    for (const register of ROUTES) await register(scope, options);
  });
}
