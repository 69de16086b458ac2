import assert from 'node:assert/strict';
import { it } from 'node:test';
import { announceOf, NOW, peerOf } from '../../testing/index.ts';
import { measureBrief } from './measure-brief.ts';
import { route } from './route.ts';

it('the tokens of a long brief are counted before a peer is excluded', async () => {
  const policy = {
    self: 'switch',
    versions: ['2.0'],
    tiers: ['sonnet'],
    smallBelowTokens: 1,
    largeAboveTokens: 2,
  };
  const peers = [10, 100].map((contextWindow) =>
    peerOf(`w${contextWindow}`, { announce: announceOf(`w${contextWindow}`, { worker: { contextWindow } }) }),
  );
  const ask = async (brief: string) => {
    const dispatch = { type: 'TASK_DISPATCH' as const, protocolVersion: '2.0', task: { taskId: 't' }, brief };
    return route(dispatch, peers, { ...policy, briefTokens: await measureBrief(dispatch, peers) }, NOW);
  };
  assert.equal((await ask('word '.repeat(50))).chosen, 'w100');
  assert.equal((await ask('word '.repeat(500))).chosen, undefined);
  assert.ok(
    (await ask('some short words of text')).considered.every(({ verdict }) => verdict !== 'excluded'),
  );
});

it('a trader without a context window does not count', async () => {
  const trader = announceOf('trader', { role: 'trader', worker: { modelTier: 'none', contextWindow: 0 } });
  const dispatch = {
    type: 'TASK_DISPATCH' as const,
    protocolVersion: '2.0',
    task: { taskId: 't' },
    brief: 'words',
  };
  const peers = [peerOf('neo'), peerOf('trader', { announce: trader })];
  assert.equal(await measureBrief(dispatch, peers), 0);
});
