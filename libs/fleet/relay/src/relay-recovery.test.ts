import assert from 'node:assert/strict';
import { createServer, type Server } from 'node:http';
import { describe, it, type TestContext } from 'node:test';
import {
  DONE,
  dispatching,
  relayFleet as fleet,
  freePort,
  profile,
  type Script,
  spending,
  untilAborted,
} from '@hermes-fleet/gateway/testing';

describe('the relay', () => {
  it('continues with a worker that is killed and comes back: one result, one task', async (t) => {
    const { orchestrator, worker } = await fleet(t, { neo: { script: untilAborted } });
    const neo = worker('neo');
    const id = await orchestrator.send(dispatching());
    await neo.firstRun;
    const [remote = ''] = neo.runs;
    await neo.event(remote, 'started');
    await neo.crash();
    await neo.restart(spending(11));
    const result = await orchestrator.result(id);
    assert.deepEqual([result.status, result.tokensSpent], ['done', 11]);
    assert.equal(orchestrator.events(id).filter((type) => type === 'done').length, 1);
    assert.deepEqual(neo.runs, [remote, remote]);
    assert.equal(neo.ledger.list({ pageSize: 10 }).totalSize, 1);
  });

  it('continues after its own crash with the task that the peer has, however often', async (t) => {
    const gate = Promise.withResolvers<void>();
    const { orchestrator, worker } = await fleet(
      t,
      { neo: { script: (task, context) => gate.promise.then(() => spending(13)(task, context)) } },
      { fleet: { limits: { max_resumes: 0 } } },
    );
    const neo = worker('neo');
    const id = await orchestrator.send(dispatching());
    await neo.firstRun;
    await orchestrator.gateway.stop(5_000);
    await orchestrator.crash();
    gate.resolve();
    await neo.result(neo.runs[0] ?? '');
    await orchestrator.restart();
    const result = await orchestrator.result(id);
    assert.deepEqual([result.status, result.tokensSpent, result.executedBy], ['done', 13, 'neo']);
    assert.equal(neo.runs.length, 1);
  });

  it('cancels at the peer a task whose deadline passes, and returns the partial result', async (t) => {
    const partial: Script = (_task, { signal }) =>
      new Promise((resolve) =>
        signal.addEventListener('abort', () => resolve({ ...DONE, status: 'partial', remaining: ['rest'] })),
      );
    const { orchestrator } = await fleet(t, { neo: { script: partial } });
    const deadline = new Date(Date.now() + 400).toISOString();
    const result = await orchestrator.result(await orchestrator.send(dispatching({}, { deadline })));
    assert.deepEqual([result.status, result.remaining, result.executedBy], ['partial', ['rest'], 'neo']);
  });

  it('spends nothing on a task whose deadline passes while it waits at the peer', async (t) => {
    const busy = { script: untilAborted, fleet: { limits: { max_concurrent_tasks: 1 } } };
    const { orchestrator, worker, hear } = await fleet(t, { neo: busy });
    const first = await worker('neo').send(dispatching());
    await worker('neo').event(first, 'started');
    await hear('neo');
    const deadline = new Date(Date.now() + 3_000).toISOString();
    const id = await orchestrator.send(dispatching({}, { deadline }));
    const result = await orchestrator.result(id);
    assert.deepEqual(
      [result.status, result.tokensSpent, result.unmet?.[0]?.kind, result.attempts?.map(({ peer }) => peer)],
      ['blocked', 0, 'deadline', ['neo']],
    );
    assert.deepEqual(worker('neo').runs, [first]);
  });

  it('fails with a retryable error when a peer stays unreachable', async (t) => {
    const { orchestrator, worker } = await fleet(
      t,
      { neo: { script: untilAborted } },
      { fleet: { routing: { peer_down_after_s: 0.5 } } },
    );
    const neo = worker('neo');
    const id = await orchestrator.send(dispatching());
    await neo.firstRun;
    await neo.event(neo.runs[0] ?? '', 'started');
    await neo.crash();
    const result = await orchestrator.result(id);
    assert.deepEqual(
      [result.status, result.error?.code, result.error?.retryable],
      ['error', 'peer_unreachable', true],
    );
    assert.match(result.error?.message ?? '', /peer neo has not answered for/);
    await neo.restart();
  });

  it('sends the same bytes again when the answer is lost, and the work runs once', async (t) => {
    const { orchestrator, worker } = await fleet(t, { neo: { script: spending(3) } });
    const neo = worker('neo');
    const proxy = await lossyProxy(t, neo.port);
    const behind = await profile(t, {
      name: 'switch',
      agents: { switch: await freePort(), neo: proxy.port },
      fleet: { orchestrate: true },
    });
    const heard = orchestrator.peers.get('neo')?.announce;
    assert.ok(heard);
    const { endpoint: _endpoint, ...announce } = heard;
    await behind.peers.record(announce, { name: 'neo' });
    const result = await behind.result(await behind.send(dispatching()));
    assert.equal(result.status, 'done', JSON.stringify(result));
    assert.equal(result.tokensSpent, 3);
    assert.equal(neo.runs.length, 1);
    const sends = proxy.bodies.filter((body) => body.includes('"SendMessage"'));
    assert.equal(sends.length, 2);
    assert.equal(sends[0], sends[1]);
  });
});

/** A proxy that cuts the connection instead of passing on the first answer. */
async function lossyProxy(t: TestContext, target: number): Promise<{ port: number; bodies: string[] }> {
  const bodies: string[] = [];
  let lost = false;
  const server: Server = createServer(async (request, reply) => {
    let body = '';
    for await (const chunk of request) body += chunk;
    bodies.push(body);
    const { authorization = '', 'content-type': type = '', accept = '' } = request.headers;
    const answer = await fetch(`http://127.0.0.1:${target}${request.url}`, {
      method: request.method ?? 'POST',
      headers: { authorization, 'content-type': type, accept, 'a2a-version': '1.0' },
      body,
    });
    const text = await answer.text();
    if (!lost) {
      lost = true;
      request.socket.destroy();
      return;
    }
    reply.writeHead(answer.status, { 'content-type': answer.headers.get('content-type') ?? '' }).end(text);
  });
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  t.after(() => {
    server.closeAllConnections();
    server.close();
  });
  const address = server.address();
  assert.ok(address !== null && typeof address === 'object');
  return { port: address.port, bodies };
}
