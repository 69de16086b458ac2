import { fastifySSE } from '@fastify/sse';
import { FleetError } from '@hermes-fleet/protocol';
import type { FastifyInstance, FastifyReply } from 'fastify';
import { sessionOf } from '../session/guard.ts';
import type { Session } from '../session/sessions.ts';
import type { Notice } from './changes.ts';
import type { ApiOptions } from './options.ts';

type StreamOptions = Pick<ApiOptions, 'changes' | 'status' | 'sessions' | 'clock'>;

const MAX_STREAMS = 100;
const MAX_PER_SESSION = 10;
const HEARTBEAT_MS = 15_000;
/** The longest time that a client may leave a full buffer unread. */
const STALL_MS = 30_000;

/**
 * `GET /api/status`, and `GET /api/stream`: the status and what changes, as server-sent events. A client that reads slowly gets the newest notice of
 * each kind, and one that reads nothing is disconnected. The end of its session ends a stream.
 */
export async function registerStream(scope: FastifyInstance, options: StreamOptions): Promise<void> {
  const open = new Map<Session['digest'], number>();
  const closing = new AbortController();
  let total = 0;
  scope.addHook('preClose', async () => closing.abort());
  await scope.register(fastifySSE, { heartbeatInterval: HEARTBEAT_MS });
  scope.get('/api/status', () => options.status());
  scope.get('/api/stream', { sse: { kind: 'manual' } }, async (request, reply) => {
    const session = sessionOf(request);
    const own = open.get(session.digest) ?? 0;
    if (total >= MAX_STREAMS || own >= MAX_PER_SESSION)
      throw new FleetError(
        'TOO_MANY_STREAMS',
        'too many streams are open: close other pages of the console',
        {
          retryAfterS: 5,
        },
      );
    open.set(session.digest, own + 1);
    total += 1;
    try {
      await follow(reply, session, options, closing.signal);
    } finally {
      total -= 1;
      const left = (open.get(session.digest) ?? 1) - 1;
      if (left > 0) open.set(session.digest, left);
      else open.delete(session.digest);
    }
    return reply;
  });
}

async function follow(
  reply: FastifyReply,
  session: Session,
  { changes, status, sessions, clock }: StreamOptions,
  closing: AbortSignal,
): Promise<void> {
  const { raw } = reply;
  let isOver = closing.aborted;
  // One promise for each wait: a race against one that lives as long as the stream would keep what it raced with.
  let wake = (): void => undefined;
  const end = (): void => {
    isOver = true;
    wake();
  };
  const woken = (): Promise<void> => {
    const { promise, resolve } = Promise.withResolvers<void>();
    wake = resolve;
    return promise;
  };
  using ending = new DisposableStack();
  raw.once('close', end);
  closing.addEventListener('abort', end, { once: true });
  ending.defer(() => closing.removeEventListener('abort', end));
  ending.use(sessions.onEnd(session, end));
  const waiting = new Map<Notice['event'], Notice>([['status', { event: 'status', data: status() }]]);
  ending.use(
    changes.subscribe((notice) => {
      waiting.set(notice.event, merged(waiting.get(notice.event), notice));
      wake();
    }),
  );
  while (!isOver && reply.sse.isConnected) {
    const [notice] = waiting.values();
    if (notice === undefined) {
      await woken();
      continue;
    }
    waiting.delete(notice.event);
    using _ = clock.timer(() => raw.destroy(), STALL_MS);
    const sent = reply.sse.send({ event: notice.event, data: notice.data });
    // A send to a client that has left never ends.
    while (!isOver && !(await Promise.race([sent.then(() => true), woken().then(() => false)])));
  }
  if (!raw.destroyed) reply.sse.close();
}

/** Two notices of what changed as one. */
function merged(first: Notice | undefined, second: Notice): Notice {
  if (first?.event !== 'changed' || second.event !== 'changed') return second;
  const views = [...new Set([...first.data.views, ...second.data.views])];
  const tasks = [...new Set([...first.data.tasks, ...second.data.tasks])].slice(0, 200);
  return { event: 'changed', data: { views, tasks } };
}
