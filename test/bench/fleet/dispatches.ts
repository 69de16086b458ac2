import { randomUUID } from 'node:crypto';
import { call, dispatch, message, resultOf, type Target } from '../../support/rpc.ts';

type Send = () => Promise<void>;

/** A dispatch that is blocked: it requires an MCP server that no peer has, and one that works and was just probed. */
export const blockedDispatch =
  (target: Target): Send =>
  async () => {
    const requirements = { required_mcp: ['filesystem', 'nope'] };
    const sent = dispatch({ brief: 'anything', requirements, routing: { target: 'auto' } });
    await expect(target, sent, 'blocked');
  };

/** A dispatch that only the worker can refuse: the required MCP server works, but the budget is too small. */
export const refusedDispatch =
  (target: Target, worker: string): Send =>
  async () => {
    const requirements = { required_mcp: ['filesystem'] };
    const routing = { target: worker, on_blocked: 'fail' };
    const sent = dispatch({ brief: 'anything', task: { token_budget: 1 }, requirements, routing });
    await expect(target, sent, 'blocked');
  };

/** A minimal task: one command in a new context's workspace. */
export const smallDispatch =
  (target: Target): Send =>
  async () => {
    const sent = dispatch({
      brief: '```sh\necho hi\n```',
      requirements: { required_capabilities: ['terminal'] },
      routing: { target: 'auto' },
    });
    await expect(target, sent, 'done');
  };

async function expect(
  target: Target,
  sent: Record<string, unknown>,
  status: string,
): Promise<Readonly<Record<string, unknown>>> {
  const { body } = await call(target, 'SendMessage', message(sent, { contextId: randomUUID() }));
  const result = resultOf(body?.result?.task);
  if (result?.status !== status)
    throw new Error(`expected ${status}, but got ${JSON.stringify(result ?? body).slice(0, 500)}`);
  return result;
}

/** Sends tasks of `taskS` seconds at once. Resolves with the seconds until all are done, and the tasks of each worker. */
export async function burst(
  target: Target,
  count: number,
  taskS: number,
): Promise<{ readonly seconds: number; readonly byWorker: Readonly<Record<string, number>> }> {
  const startedAt = performance.now();
  const sent = dispatch({
    brief: `\`\`\`sh\nsleep ${taskS}\n\`\`\``,
    requirements: { required_capabilities: ['terminal'] },
    routing: { target: 'auto' },
  });
  const results = await Promise.all(
    Array.from({ length: count }, () => {
      const own = { ...sent, task: { ...(sent.task as object), task_id: randomUUID() } };
      return expect(target, own, 'done');
    }),
  );
  const byWorker: Record<string, number> = {};
  for (const { executed_by: worker } of results)
    byWorker[String(worker)] = (byWorker[String(worker)] ?? 0) + 1;
  return { seconds: (performance.now() - startedAt) / 1000, byWorker };
}

/** The latencies in ms of `count` dispatches in sequence; of fewer when `limitMs` has passed. */
export async function latenciesOf(send: Send, count: number, limitMs: number): Promise<readonly number[]> {
  const samples: number[] = [];
  const giveUpAt = performance.now() + limitMs;
  while (samples.length < count && performance.now() < giveUpAt) {
    const startedAt = performance.now();
    await send();
    samples.push(performance.now() - startedAt);
  }
  return samples;
}

/** Dispatches per second, `parallel` at once, for `forMs`. */
export async function rateOf(send: Send, parallel: number, forMs: number): Promise<number> {
  const startedAt = performance.now();
  let done = 0;
  const worker = async (): Promise<void> => {
    while (performance.now() - startedAt < forMs) {
      await send();
      done += 1;
    }
  };
  await Promise.all(Array.from({ length: parallel }, worker));
  return done / ((performance.now() - startedAt) / 1000);
}
