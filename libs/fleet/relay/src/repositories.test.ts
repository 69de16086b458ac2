import assert from 'node:assert/strict';
import { it } from 'node:test';
import {
  CALLER,
  DONE,
  dispatching,
  fileBundles,
  relayFleet,
  type Script,
} from '@hermes-fleet/gateway/testing';
import type { JsonObject } from '@hermes-fleet/protocol';
import { unmet } from '@hermes-fleet/protocol/handshake';
import { tempDir } from '@hermes-fleet/protocol/testing';
import { dispatchMessage } from './delegation/delegation.ts';

const say: Script = async ({ dispatch: { task, requirements } }) => ({
  ...DONE,
  text: JSON.stringify([task.repository, requirements?.requiredCapabilities]),
});
function sentBy(caller: string, { bundle, base }: { bundle: string; base: string }, dir: string) {
  const bundles = fileBundles(dir);
  bundles.keep(caller, { bundle, commit: base }, 'content');
  return bundles;
}

const WEB = { name: 'web', base: 'main' };

it('a task with a repository goes to a worker that announces it, and so do further tasks of its context', async (t) => {
  const { orchestrator } = await relayFleet(t, {
    neo: { script: say, tier: 'sonnet' },
    trinity: { script: say, tier: 'opus', repositories: ['web'] },
  });
  for (const message of [dispatching({ repository: WEB }), dispatching(), { text: 'go on' }]) {
    const id = await orchestrator.send({ ...message, contextId: 'c' });
    const { executedBy, text } = await orchestrator.result(id);
    assert.deepEqual([executedBy, text], ['trinity', JSON.stringify([WEB, ['repository:web']])]);
  }
  const elsewhere = await orchestrator.result(await orchestrator.send(dispatching()));
  assert.deepEqual([elsewhere.executedBy, elsewhere.text], ['neo', '[null,null]']);
});

it('a task whose repository no worker announces is blocked at once, whatever may be waited for', async (t) => {
  const { orchestrator } = await relayFleet(t, { neo: { script: say, repositories: ['api'] } });
  const id = await orchestrator.send(dispatching({ repository: WEB }, { routing: { on_blocked: 'queue' } }));
  const { status, unmet, tokensSpent } = await orchestrator.result(id);
  assert.deepEqual([status, tokensSpent], ['blocked', 0]);
  assert.deepEqual(
    unmet?.map(({ kind, name, transient }) => [kind, name, transient]),
    [['capability', 'repository:web', false]],
  );
});

it('a task that waits says what its worker refused it for', async (t) => {
  const away = 'https://git.example/web.git cannot be reached: Could not resolve host';
  const script: Script = async () => ({
    ...DONE,
    status: 'blocked',
    blockedReason: away,
    unmet: unmet('repo', 'web', away, true),
  });
  const fleet = await relayFleet(t, { neo: { script, repositories: ['web'] } });
  const id = await fleet.orchestrator.send(dispatching({ repository: WEB }));
  const { reason, detail } = await fleet.orchestrator.event(id, 'queued', 2);
  assert.deepEqual([reason, detail], ['repo', `neo: ${away}`]);
  await fleet.orchestrator.gateway.cancel(id, CALLER);
});

it('a task that the worker of its context refuses for its repository is not sent to another, whatever may be tried', async (t) => {
  let begun = false;
  const moved = unmet('repo', 'web', 'what was sent conflicts with the result of the context');
  const script: Script = async () => {
    if (begun) return { ...DONE, status: 'blocked', blockedReason: 'conflicts', unmet: moved };
    begun = true;
    return DONE;
  };
  const { orchestrator } = await relayFleet(t, {
    neo: { script, tier: 'sonnet', repositories: ['web'] },
    trinity: { script: say, tier: 'opus', repositories: ['web'] },
  });
  const send = (contextId: string, on_blocked: string) =>
    orchestrator.send({ ...dispatching({ repository: WEB }, { routing: { on_blocked } }), contextId });
  assert.equal((await orchestrator.result(await send('c', 'reroute'))).executedBy, 'neo');
  for (const policy of ['reroute', 'queue']) {
    const { status, unmet: found, attempts } = await orchestrator.result(await send('c', policy));
    assert.deepEqual(
      [status, found?.map(({ detail }) => detail), attempts?.map(({ peer }) => peer)],
      ['blocked', ['neo: what was sent conflicts with the result of the context'], ['neo']],
    );
  }
  assert.equal((await orchestrator.result(await send('new', 'reroute'))).executedBy, 'trinity');
});

it('a peer gets the token of a checkout with each copy of the dispatch, and nothing here keeps or shows it', async (t) => {
  const bundle = { bundle: '1a'.repeat(32), base: 'c0'.repeat(20) };
  const seen: unknown[] = [];
  const { orchestrator, worker } = await relayFleet(
    t,
    {
      neo: {
        repositories: ['bundle'],
        script: async ({ dispatch }) => {
          seen.push(dispatch.task.repository);
          return DONE;
        },
      },
    },
    { bundles: sentBy(CALLER.name, bundle, tempDir(t)) },
  );
  const id = await orchestrator.send(dispatching({ repository: bundle }));
  const { status } = await orchestrator.result(id);
  const token = orchestrator.ledger.contexts.repositoryToken(id);
  assert.deepEqual([status, seen], ['done', [{ ...bundle, token }]]);
  const kept = [
    orchestrator.task(id),
    orchestrator.ledger.events(id),
    orchestrator.ledger.loadCheckpoint(id),
  ];
  assert.doesNotMatch(JSON.stringify(kept), new RegExp(token));
  const {
    tasks: [there],
  } = worker('neo').ledger.list({ pageSize: 1 });
  assert.ok(there);
  assert.doesNotMatch(
    JSON.stringify([worker('neo').ledger.events(there.id), there.result]),
    new RegExp(token),
  );
});

it('the copy by which an unknown task is looked for has the token, and a prose peer never', () => {
  const repository = { bundle: 'b', base: 'c' };
  const payload = { task: { task_id: 't', repository } };
  const sent = (of: JsonObject) =>
    dispatchMessage({ messageId: 'm', contextId: 'c', payload: of }, { parts: [], repositoryToken: 'T' }, 0)
      .data;
  assert.deepEqual(sent(payload)?.task, { task_id: 't', repository: { ...repository, token: 'T' } });
  assert.deepEqual(sent({ task: { repository: { name: 'web' } } })?.task, { repository: { name: 'web' } });
  assert.doesNotMatch(JSON.stringify(sent({ text: 'do it' })), /"T"/);
});
